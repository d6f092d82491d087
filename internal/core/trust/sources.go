package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/launch"
)

// Most bytes of things.
const (
	mostConfiguration = 1 << 20
	mostInstructions  = 1 << 20
)

// ConfigurationFile is the project's own configuration, by its place in it.
const ConfigurationFile = ".ramet/config.toml"

// Standard returns the sources of every project.
func Standard() []Source {
	return []Source{
		Files(Configuration, "changes settings of ramet in this project", mostConfiguration, ConfigurationFile),
		instructionsSource(),
		Files(Servers, "names programs and services whose tools agents may ask for; programs start with the network, and write caches and the folders named", mostConfiguration, ".mcp.json"),
		// What another source finds too is listed there only.
		{Obeyed, func(g *Ground) ([]Thing, error) { return g.obeyed(launch.ObeyedNames()) }},
	}
}

// Files returns the source of files at given places.
func Files(kind Kind, does string, most int64, paths ...string) Source {
	return Source{kind, func(g *Ground) ([]Thing, error) {
		var out []Thing
		for _, p := range paths {
			t, ok, err := g.thing(p, does, most)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, t)
			}
		}
		return out, nil
	}}
}

// Below returns the source of all files below a folder: each of them acts, also one that is
// added later. There may be at most so many.
func Below(kind Kind, does string, most int64, count int, folder string) Source {
	return Source{kind, func(g *Ground) ([]Thing, error) {
		var out []Thing
		err := fs.WalkDir(g.root.FS(), path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
			switch {
			case isMissing(err):
				return nil
			case Escapes(err):
				out = append(out, Thing{Path: name, Does: does, Refused: leadsOut})
				return nil
			case err != nil:
				return err
			case d.IsDir():
				return nil
			case len(out) == count:
				return Unfit("it contains too many files")
			}
			t, _, err := g.thing(name, does, most)
			out = append(out, t)
			return err
		})
		if why := Unfit(""); errors.As(err, &why) {
			return []Thing{{Path: folder, Does: does, Refused: string(why)}}, nil
		}
		return out, err
	}}
}

// thing reads a file; ok is false if it is not there.
func (g *Ground) thing(p, does string, most int64) (t Thing, ok bool, err error) {
	t = Thing{Path: p, Does: does}
	info, err := g.root.Lstat(filepath.FromSlash(p))
	switch {
	case Escapes(err):
		t.Refused = reachedOver
		return t, true, nil
	case isMissing(err):
		return t, false, nil
	}
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		t.Link, _ = g.root.Readlink(filepath.FromSlash(p)) // only to be shown
	}
	t.Data, err = g.Read(p, most)
	why := Unfit("")
	switch {
	case errors.As(err, &why):
		t.Refused = string(why)
	case errors.Is(err, fs.ErrNotExist):
		t.Refused = "it is a link to nothing"
	case err != nil:
		return t, false, err
	}
	return t, true, nil
}

// Kind describes how a thing acts.
type Kind string

// The kinds there are.
const (
	Configuration Kind = "configuration"
	Instructions  Kind = "instructions"
	GitProgram    Kind = "git program"
	Servers       Kind = "mcp servers"
)

// Thing is something in a project that acts once it is accepted.
type Thing struct {
	Kind Kind
	Path string // below the project, with slashes; of a setting: its file and key
	Does string // what it would do, for people
	Link string // where a link leads; empty: it is none
	Data []byte // the bytes that act
	// Refused gives why it cannot act even if accepted; empty: it can.
	Refused string
}

// SHA256 returns the hash of the bytes that act, in lower-case hexadecimal.
func (t Thing) SHA256() string {
	sum := sha256.Sum256(t.Data)
	return hex.EncodeToString(sum[:])
}

// Source finds the things of one kind.
type Source struct {
	Kind Kind
	Find func(*Ground) ([]Thing, error)
}

// name tells things apart.
type name struct {
	kind Kind
	path string
}

func (t Thing) name() name { return name{t.Kind, t.Path} }

func compareNames(a, b name) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path))
}

// findThings runs all sources, in the order of kinds and paths.
func findThings(g *Ground, sources []Source) ([]Thing, error) {
	var out []Thing
	for _, s := range sources {
		found, err := s.Find(g)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			t.Kind = s.Kind
			out = append(out, t)
		}
	}
	listed := map[string]bool{}
	for _, t := range out {
		listed[t.Path] = listed[t.Path] || t.Kind != Obeyed
	}
	out = slices.DeleteFunc(out, func(t Thing) bool { return t.Kind == Obeyed && listed[t.Path] })
	slices.SortFunc(out, func(a, b Thing) int { return compareNames(a.name(), b.name()) })
	return out, nil
}

// Why a link cannot act, unless it is part of a program.
const (
	leadsOut    = "it is a link that leads out of the project"
	reachedOver = "it is reached over a link that leads out of the project"
)

// Programs returns the source of files that the programs of a project consist of. A link that leads out of
// the project, such as .venv/bin/python, counts with the path that it leads to: what is there belongs
// to the user, like a program that a command line names by such a path.
func Programs(kind Kind, does string, paths ...string) Source {
	return Source{kind, func(g *Ground) ([]Thing, error) {
		out, err := Files(kind, does, launch.MostProgram, paths...).Find(g)
		for i, t := range out {
			if t.Refused != leadsOut && t.Refused != reachedOver {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(g.dir, filepath.FromSlash(t.Path))); err == nil {
				out[i] = linkTo(t.Path, real)
				out[i].Does = does + "; leads to " + real
			} else {
				out[i].Refused = "it is a link to nothing"
			}
		}
		return out, err
	}}
}

// linkTo returns a link of a program that leads out of the project, as it is accepted.
func linkTo(path, real string) Thing {
	return Thing{Path: path, Link: real, Data: []byte("leads to " + real + "\n")}
}

// UnacceptedProgram returns the first of some files in a folder that has the project's files which no
// person accepted, in these bytes, at this place of the project; empty if all were.
func (g Gate) UnacceptedProgram(dir string, names []string) (string, error) {
	_, unaccepted, err := g.firstUnaccepted(dir, Programs("", "", names...).Find)
	return unaccepted, err
}

// AcceptsLink reports whether a person accepted a link of a program with the path that it leads to.
func (g Gate) AcceptsLink(path, real string) (bool, error) {
	_, c, err := g.acceptedIn(g.Project, func(*Ground) ([]Thing, error) { return nil, nil })
	return c.holds(linkTo(path, real)), err
}

// Obeyed is the kind of files that programs which drive agents obey in a project.
const Obeyed Kind = "driver settings"

// mostObeyed bounds the files below one folder of settings.
const mostObeyed = 2000

// obeyed finds the files of names; those that end with a slash are folders.
func (g *Ground) obeyed(names []string) ([]Thing, error) {
	var out []Thing
	for _, name := range names {
		does := "is obeyed by programs that drive agents here: " + strings.Join(launch.ObeyedBy(name), ", ")
		source := Files(Obeyed, does, launch.MostProgram, name)
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			source = Below(Obeyed, does, launch.MostProgram, mostObeyed, folder)
		}
		found, err := source.Find(g)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Unaccepted reports what there is of some names in a folder that has the project's files: whether
// there is any file, and the first one that no person accepted, in these bytes, at this place of the
// project; empty if all were.
func (g Gate) Unaccepted(dir string, names []string) (found bool, unaccepted string, err error) {
	return g.firstUnaccepted(dir, func(ground *Ground) ([]Thing, error) { return ground.obeyed(names) })
}

// firstUnaccepted reports whether a folder has any of some things, and the path of the first one that no person accepted.
func (g Gate) firstUnaccepted(dir string, find func(*Ground) ([]Thing, error)) (found bool, unaccepted string, err error) {
	things, c, err := g.acceptedIn(dir, find)
	if i := slices.IndexFunc(things, func(t Thing) bool { return !c.holds(t) }); err == nil && i >= 0 {
		unaccepted = things[i].Path
	}
	return len(things) > 0, unaccepted, err
}

// CopyAccepted copies the files of some names from a folder that has the project's files, with their
// places below it, to another folder. UNTRUSTED: no person accepted one of them; what was copied before
// it stays.
func (g Gate) CopyAccepted(dir string, names []string, to string) error {
	things, c, err := g.acceptedIn(dir, func(ground *Ground) ([]Thing, error) { return ground.obeyed(names) })
	if err != nil {
		return err
	}
	for _, t := range things {
		if !c.holds(t) {
			return fault.New(fault.Untrusted, "%s has not been accepted", t.Path).WithHint("look at it and accept it with `ramet trust`")
		}
		file := filepath.Join(to, filepath.FromSlash(t.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, t.Data, 0o700)); err != nil {
			return fault.New(fault.StorageIO, "copy %s: %w", t.Path, err)
		}
	}
	return nil
}

// accepted returns the real path of the project and what was accepted in it; given is false if nothing ever was.
func (g Gate) accepted() (project string, c consent, given bool, err error) {
	if project, err = realPath(g.Project); err != nil {
		return project, c, false, err
	}
	rec, err := readRecord(g.Home)
	if err != nil {
		return project, c, false, err
	}
	c, given = rec.of(project)
	return project, c, given, nil
}

// acceptedIn finds things in a folder, and what was accepted in the project.
func (g Gate) acceptedIn(dir string, find func(*Ground) ([]Thing, error)) ([]Thing, consent, error) {
	_, c, _, err := g.accepted()
	if err != nil {
		return nil, c, err
	}
	ground, err := Open(dir)
	if err != nil {
		return nil, c, err
	}
	defer ground.Close()
	things, err := find(ground)
	return things, c, err
}

// holds reports whether the bytes of a thing were accepted at its place, as whatever kind.
func (c consent) holds(t Thing) bool {
	return t.Refused == "" && slices.ContainsFunc(c.Things, func(k kept) bool { return k.Path == t.Path && k.SHA256 == t.SHA256() })
}

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/launch"
)

// Obeyed is the kind of files that programs which drive agents obey in a project.
const Obeyed Kind = "driver settings"

// mostObeyed bounds the files below one folder of settings.
const mostObeyed = 2000

// obeyedSource returns the source of all files that drivers obey. What another source finds too is listed
// there only.
func obeyedSource() Source {
	return Source{Obeyed, func(g *Ground) ([]Thing, error) { return g.obeyed(launch.ObeyedNames()) }}
}

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

package kit

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// Shelf gives what was accepted of a project; trust.Shelf is one.
type Shelf interface {
	Paths(kind trust.Kind) []string
	Text(kind trust.Kind, path string) (t trust.Text, ok bool, err error)
}

// Read reads what a project and a user define. users are the user's folders that hold skills,
// agents and commands, the stronger first; project is the folder of the shelf.
func Read(s Shelf, project string, users ...string) (Kit, error) {
	var k Kit
	for _, kind := range []trust.Kind{Skills, Roles, Commands} {
		for _, top := range Folders {
			if err := k.project(s, project, kind, top+"/"+string(kind)); err != nil {
				return Kit{}, err
			}
		}
	}
	for _, dir := range users {
		for _, kind := range []trust.Kind{Skills, Roles, Commands} {
			if err := k.user(filepath.Join(dir, string(kind)), kind); err != nil {
				return Kit{}, err
			}
		}
	}
	k.Skills = keepFirst(&k, "skill", k.Skills, func(s Skill) (string, Origin) { return s.Name, s.Origin })
	k.Roles = keepFirst(&k, "agent", k.Roles, func(r Role) (string, Origin) { return r.Name, r.Origin })
	k.Commands = keepFirst(&k, "command", k.Commands, func(c Command) (string, Origin) { return c.Name, c.Origin })
	return k, nil
}

// project reads what was accepted below one folder, and notes what was not.
func (k *Kit) project(s Shelf, project string, kind trust.Kind, folder string) error {
	accepted := map[string]bool{}
	changed, fresh := 0, 0
	for _, p := range s.Paths(kind) {
		rel, below := strings.CutPrefix(p, folder+"/")
		if !below {
			continue
		}
		accepted[p] = true
		if !definesByName(kind, rel) {
			continue
		}
		t, ok, err := s.Text(kind, p)
		if err != nil {
			return err
		}
		if !ok || t.Data == nil {
			continue
		}
		if t.Note != "" {
			changed++
		}
		k.take(kind, rel, string(t.Data), Origin{Path: p, Dir: filepath.Join(project, filepath.FromSlash(path.Dir(p))), Project: true})
	}
	there, _ := filesBelow(filepath.Join(project, filepath.FromSlash(folder)), kind) // what cannot be looked at `ramet trust` tells
	for _, rel := range there {
		if !accepted[folder+"/"+rel] {
			fresh++
		}
	}
	if fresh > 0 {
		k.Notes = append(k.Notes, text.Count(fresh, "file")+" in "+folder+" not used: they have not been accepted (`ramet trust` shows them)")
	}
	if changed > 0 {
		k.Notes = append(k.Notes, text.Count(changed, "file")+" in "+folder+" changed since you accepted them; what you accepted is used (`ramet trust` shows it)")
	}
	return nil
}

// user reads what a user defines below a folder.
func (k *Kit) user(folder string, kind trust.Kind) error {
	there, flaws := linkedBelow(folder, kind)
	k.Flaws = append(k.Flaws, flaws...)
	for _, rel := range there {
		file := filepath.Join(folder, filepath.FromSlash(rel))
		data, err := durable.ReadPlain(file, mostFile, nil)
		if err != nil {
			k.Flaws = append(k.Flaws, Flaw{file, err.Error()})
			continue
		}
		k.take(kind, rel, string(data), Origin{Path: file, Dir: filepath.Dir(file)})
	}
	return nil
}

// take reads one file.
func (k *Kit) take(kind trust.Kind, rel, data string, from Origin) {
	var err error
	switch kind {
	case Skills:
		var s Skill
		if s, err = ParseSkill(path.Base(path.Dir(rel)), data); err == nil {
			s.Origin = from
			k.Skills = append(k.Skills, s)
		}
	case Roles:
		var r Role
		if r, err = ParseRole(rel, data); err == nil {
			r.Origin = from
			k.Roles = append(k.Roles, r)
		}
	case Commands:
		var c Command
		if c, err = ParseCommand(rel, data); err == nil {
			c.Origin = from
			k.Commands = append(k.Commands, c)
		}
	}
	if err != nil {
		k.Flaws = append(k.Flaws, Flaw{from.Path, err.Error()})
	}
}

// definesByName reports whether a file below a folder defines something by its name.
func definesByName(kind trust.Kind, rel string) bool {
	if kind == Skills {
		return path.Base(rel) == "SKILL.md" && strings.Contains(rel, "/")
	}
	base := path.Base(rel)
	return strings.HasSuffix(base, ".md") && base != "README.md" && !strings.HasPrefix(base, ".")
}

// mostLooked bounds how many files of a folder are looked at.
const mostLooked = 20_000

// filesBelow returns the files below a folder that define something, by their paths with slashes, and what
// could not be looked at. No link is followed.
func filesBelow(folder string, kind trust.Kind) (out []string, flaws []Flaw) {
	n := 0
	_ = filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				flaws = append(flaws, Flaw{at, err.Error()})
			}
			return nil
		}
		if n++; n > mostLooked {
			flaws = append(flaws, Flaw{folder, "more than " + strconv.Itoa(mostLooked) + " files are there: the rest was not read"})
			return fs.SkipAll
		}
		if d.IsDir() {
			if at != folder && (d.Name() == "node_modules" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return nil
		}
		if rel, err := filepath.Rel(folder, at); err == nil && definesByName(kind, filepath.ToSlash(rel)) {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out, flaws
}

// linkedBelow does what filesBelow does for a user, who keeps such folders elsewhere and links to them: the folder may be
// a link, and so may each in it.
func linkedBelow(folder string, kind trust.Kind) (out []string, flaws []Flaw) {
	// Most are not there, which one look tells; to resolve one looks at every folder above it.
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			flaws = append(flaws, Flaw{folder, err.Error()})
		}
		return nil, flaws
	}
	out, flaws = filesBelow(real, kind)
	entries, _ := os.ReadDir(real) // what cannot be read is told already
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		at, err := filepath.EvalSymlinks(filepath.Join(real, e.Name()))
		if err != nil {
			continue // one that defines something by its name is told by who reads it
		}
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			continue
		}
		if rel, err := filepath.Rel(at, real); err == nil && filepath.IsLocal(rel) {
			flaws = append(flaws, Flaw{filepath.Join(folder, e.Name()), "it leads back to its own folder"})
			continue
		}
		there, more := filesBelow(at, kind)
		for _, rel := range there {
			out = append(out, e.Name()+"/"+rel)
		}
		if kind == Skills && slices.Contains(entryNames(at), "SKILL.md") {
			out = append(out, e.Name()+"/SKILL.md")
		}
		flaws = append(flaws, more...)
	}
	slices.Sort(out)
	return out, flaws
}

// entryNames returns the names of the entries of a folder.
func entryNames(folder string) []string {
	entries, _ := os.ReadDir(folder)
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}

package kit

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ramet/internal/text"
	"ramet/internal/trust"
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
	k.Skills = unique(k.Skills, func(s Skill) string { return s.Name })
	k.Roles = unique(k.Roles, func(r Role) string { return r.Name })
	k.Commands = unique(k.Commands, func(c Command) string { return c.Name })
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
		if !defines(kind, rel) {
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
	for _, rel := range below(filepath.Join(project, filepath.FromSlash(folder)), kind) {
		if !accepted[folder+"/"+rel] {
			fresh++
		}
	}
	if fresh > 0 {
		k.Notes = append(k.Notes, text.Count(fresh, "file")+" in "+folder+" not used: nobody has accepted them (`ramet trust` shows them)")
	}
	if changed > 0 {
		k.Notes = append(k.Notes, text.Count(changed, "file")+" in "+folder+" changed since you accepted them; what you accepted is used (`ramet trust` shows it)")
	}
	return nil
}

// user reads what a user defines below a folder.
func (k *Kit) user(folder string, kind trust.Kind) error {
	for _, rel := range below(folder, kind) {
		file := filepath.Join(folder, filepath.FromSlash(rel))
		info, err := os.Stat(file)
		switch {
		case err != nil || !info.Mode().IsRegular():
			continue
		case info.Size() > mostFile:
			k.Flaws = append(k.Flaws, Flaw{file, "it is too long"})
			continue
		}
		data, err := os.ReadFile(file)
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

// defines says whether a file below a folder defines something by its name.
func defines(kind trust.Kind, rel string) bool {
	if kind == Skills {
		return path.Base(rel) == "SKILL.md" && strings.Contains(rel, "/")
	}
	base := path.Base(rel)
	return strings.HasSuffix(base, ".md") && base != "README.md" && !strings.HasPrefix(base, ".")
}

// mostLooked bounds how many files of a folder are looked at.
const mostLooked = 20_000

// below are the files below a folder that define something, by their paths with slashes.
func below(folder string, kind trust.Kind) []string {
	var out []string
	n := 0
	_ = filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if n++; err != nil || n > mostLooked {
			if errors.Is(err, fs.ErrPermission) {
				return nil // what cannot be read defines nothing
			}
			return fs.SkipAll
		}
		if d.IsDir() {
			if at != folder && (d.Name() == "node_modules" || d.Name() == ".git") {
				return fs.SkipDir
			}
			return nil
		}
		if rel, err := filepath.Rel(folder, at); err == nil && defines(kind, filepath.ToSlash(rel)) {
			out = append(out, filepath.ToSlash(rel))
		}
		return nil
	})
	return out
}

package trust

import (
	"slices"
	"strings"

	"ramet/internal/launch"
)

// Obeyed is the kind of files that programs which drive agents obey in a project.
const Obeyed Kind = "driver settings"

// mostObeyed bounds the files below one folder of settings.
const mostObeyed = 2000

// obeyed is the source of all files that drivers obey. What another source finds too is listed
// there only.
func obeyed() Source {
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
	project, err := realPath(g.Project)
	if err != nil {
		return false, "", err
	}
	rec, err := readRecord(g.Home)
	if err != nil {
		return false, "", err
	}
	ground, err := Open(dir)
	if err != nil {
		return false, "", err
	}
	defer ground.Close()
	things, err := ground.obeyed(names)
	if err != nil {
		return false, "", err
	}
	c, _ := rec.of(project)
	for _, t := range things {
		if !c.holds(t) {
			return true, t.Path, nil
		}
	}
	return len(things) > 0, "", nil
}

// holds reports whether the bytes of a thing were accepted at its place, as whatever kind.
func (c consent) holds(t Thing) bool {
	return t.Refused == "" && slices.ContainsFunc(c.Things, func(k kept) bool { return k.Path == t.Path && k.SHA256 == t.SHA256() })
}

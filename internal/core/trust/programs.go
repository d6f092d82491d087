package trust

import (
	"path/filepath"

	"ramet/internal/launch"
)

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

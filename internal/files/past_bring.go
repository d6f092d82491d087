package files

import (
	"context"
	"os"
	"path"
	"path/filepath"
)

// Committed is a file as a commit has it.
type Committed struct {
	Oid  string
	Exec bool
	Link bool
}

// Bring makes a fresh checkout of a commit what a state holds. Only what differs from the
// commit is touched; have is what the commit holds. What the folder that the state is of still
// has is cloned from there, where the file system can, and copied from there, where it was not
// kept. It returns the files that differ.
func (p *Past) Bring(ctx context.Context, from, to string, s PastState, have map[string]Committed) (RestoreDone, error) {
	oids, err := p.store.Oids()
	if err != nil {
		return RestoreDone{}, err
	}
	wants, left, err := p.differing(from, s, have, func(n Node, c Committed) bool {
		return oids[n.Hash] == c.Oid && c.Oid != "" && c.Link == (n.Kind == Link) && (c.Link || c.Exec == (n.Mode&0o100 != 0))
	})
	if err != nil {
		return RestoreDone{}, err
	}
	plan, err := LayFiles(realPast(to), wants)
	if err != nil {
		return RestoreDone{}, err
	}
	plan.Kept, plan.Beside = left, from
	return p.journal.Do(ctx, plan, func(RestoreDone) error { return nil })
}

// differing returns what a checkout has to get or lose, and what cannot be had.
func (p *Past) differing(from string, s PastState, have map[string]Committed, same func(Node, Committed) bool) (wants []RestoreWant, left []RestoreLeft, err error) {
	there, folders := map[string]bool{}, map[string]bool{}
	var closed []string // what is below these is unknown: it stays as committed
	for name := range have {
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	err = List(p.store, s.Root, func(at string, n Node) error {
		there[at] = true
		if n.Closed() {
			closed = append(closed, at)
		}
		c, tracked := have[at]
		switch {
		case n.Kind == Repo || n.Kind == Other:
		case n.Closed():
			left = append(left, RestoreLeft{Path: at, Why: Unknown})
		case n.Kind == Dir:
			if !folders[at] {
				wants = append(wants, RestoreWant{Path: at, Node: &n})
			}
		case !n.Known():
			left = append(left, RestoreLeft{Path: at, Why: Unknown})
		case tracked && same(n, c):
		case !p.store.Has(n.Hash) && !mayBe(from, at, n):
			left = append(left, RestoreLeft{Path: at, Why: Unkept})
		default:
			wants = append(wants, RestoreWant{Path: at, Node: &n})
		}
		return nil
	})
	if err != nil || s.Partial {
		return wants, left, err
	}
	for name := range have {
		if !there[name] && (len(closed) == 0 || !Within(name, closed)) {
			wants = append(wants, RestoreWant{Path: name})
		}
	}
	return wants, left, nil
}

// mayBe reports whether a folder has a file that may still be what a state says.
func mayBe(folder, at string, n Node) bool {
	if folder == "" || n.Kind != File {
		return false
	}
	info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(at)))
	return err == nil && info.Mode().IsRegular() && info.Size() == n.Size
}

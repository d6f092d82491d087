package files

import (
	"path"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// Source has the folders of states.
type Source interface {
	// Folder reads a folder by its hash. Not there: NOT_FOUND.
	Folder(h chain.Hash) (Folder, error)
}

// Change is a path at which two states differ; nil is nothing there.
type Change struct {
	Path          string
	Before, After *Node
	Nested        string // the other repository that the path is in; empty: it is in none
}

// Verb returns what happened, for people.
func (c Change) Verb() string {
	switch {
	case c.Before == nil:
		return "added"
	case c.After == nil:
		return "removed"
	case c.Before.Kind != c.After.Kind:
		return "replaced"
	case c.Before.Hash == c.After.Hash:
		return "mode"
	}
	return "changed"
}

// Diff lists where two states differ, in the order of paths, folders before what is in
// them. Folders that are equal are not read. A folder that is there on both sides is listed
// where its own mode differs. Another repository is listed where it was added or removed; in one
// that is there on both sides, what changed.
func Diff(src Source, before, after chain.Hash) ([]Change, error) {
	d := differ{src: src}
	err := d.folders("", before, after)
	return d.out, err
}

type differ struct {
	src    Source
	out    []Change
	nested string // the other repository that is being compared
}

func (d *differ) folders(at string, before, after chain.Hash) error {
	if before == after {
		return nil
	}
	b, err := d.read(before)
	if err != nil {
		return err
	}
	a, err := d.read(after)
	if err != nil {
		return err
	}
	for i, j := 0, 0; i < len(b) || j < len(a); {
		var was, is *Node
		switch {
		case j == len(a) || i < len(b) && b[i].Name < a[j].Name:
			was, i = &b[i], i+1
		case i == len(b) || a[j].Name < b[i].Name:
			is, j = &a[j], j+1
		default:
			was, is, i, j = &b[i], &a[j], i+1, j+1
		}
		if err := d.node(at, was, is); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) node(at string, was, is *Node) error {
	if Same(was, is) {
		return nil
	}
	name := was
	if name == nil {
		name = is
	}
	p := path.Join(at, name.Name)
	if was != nil && is != nil && was.Kind == Repo && is.Kind == Repo {
		return d.repository(p, was.Hash, is.Hash)
	}
	var before, after chain.Hash
	folder := func(n *Node) bool { return n != nil && n.Kind == Dir }
	if !folder(was) || !folder(is) || was.Mode != is.Mode || was.Known() != is.Known() {
		d.out = append(d.out, Change{p, was, is, d.nested})
	}
	if folder(was) {
		before = was.Hash
	}
	if folder(is) {
		after = is.Hash
	}
	return d.folders(p, before, after)
}

// repository compares what two states noted of another repository; where one noted nothing, there
// is nothing to compare.
func (d *differ) repository(at string, before, after chain.Hash) error {
	if before == (chain.Hash{}) || after == (chain.Hash{}) {
		return nil
	}
	outer := d.nested
	d.nested = at
	defer func() { d.nested = outer }()
	return d.folders(at, before, after)
}

// read returns a folder; nothing, or one that is not known, is empty.
func (d *differ) read(h chain.Hash) (Folder, error) {
	if h == (chain.Hash{}) {
		return nil, nil
	}
	return d.src.Folder(h)
}

// Find returns the node at a path of a state; nil: there is none. The empty path is the state
// itself.
func Find(src Source, root chain.Hash, p string) (*Node, error) {
	at := &Node{Kind: Dir, Hash: root}
	for name := range strings.SplitSeq(path.Clean("/" + p)[1:], "/") {
		if name == "" {
			break
		}
		if at == nil || at.Kind != Dir && at.Kind != Repo || !at.Known() {
			return nil, nil
		}
		f, err := src.Folder(at.Hash)
		if err != nil {
			return nil, err
		}
		at = f.Find(name)
	}
	return at, nil
}

// List visits every node of a state, folders before what is in them.
func List(src Source, root chain.Hash, visit func(path string, n Node) error) error {
	var walk func(at string, h chain.Hash) error
	walk = func(at string, h chain.Hash) error {
		f, err := src.Folder(h)
		if err != nil {
			return err
		}
		for _, n := range f {
			p := path.Join(at, n.Name)
			if err := visit(p, n); err != nil {
				return err
			}
			if n.Kind == Dir && n.Known() {
				if err := walk(p, n.Hash); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk("", root)
}

// Within reports whether a path is one of those named, or lies below one; none named: all do.
func Within(p string, named []string) bool {
	for _, n := range named {
		if p == n || n == "." || strings.HasPrefix(p, n+"/") {
			return true
		}
	}
	return len(named) == 0
}

// CheckPath returns a path below a folder as a person writes it, cleaned.
func CheckPath(p string) (string, error) {
	clean := path.Clean(p)
	if p == "" || strings.HasPrefix(clean, "/") || clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains(p, "\x00") {
		return "", fault.New(fault.Usage, "%.200q is not a path below the agent's folder", p).WithHint("name it from the agent's folder")
	}
	return clean, nil
}

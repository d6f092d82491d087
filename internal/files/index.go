package files

import (
	"slices"
	"strings"

	"ramet/internal/base/chain"
)

// Index records what the last walk of a folder saw. It does not change once it is made; nil is
// one that knows nothing.
type Index struct {
	// Generation is that of the store when its contents were there.
	Generation string
	top        *seenFolder
}

// seenFolder is a folder as it was.
type seenFolder struct {
	rules  uint64 // what was ignored by which rules
	ctime  int64
	nested bool // part of another repository: no file is read; not in the file of the index
	hash   chain.Hash
	nodes  []seen   // in order
	out    []string // ignored names, in order
}

// seen is a name as it was.
type seen struct {
	Node
	stat ScanStat
	racy bool        // it may have changed since without a trace
	kept bool        // its content was kept, or git has it
	sub  *seenFolder // of folders
}

func (f *seenFolder) find(name string) *seen {
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.nodes, name, func(s seen, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return nil
	}
	return &f.nodes[i]
}

// equal reports whether everything that is known of a folder is the same.
func (f *seenFolder) equal(other *seenFolder) bool {
	return other != nil && f.rules == other.rules && f.ctime == other.ctime && f.hash == other.hash &&
		slices.Equal(f.nodes, other.nodes) && slices.Equal(f.out, other.out)
}

// plain returns the folder as states have it.
func (f *seenFolder) plain() Folder {
	if f == nil {
		return nil
	}
	out := make(Folder, len(f.nodes))
	for i := range f.nodes {
		out[i] = f.nodes[i].Node
	}
	return out
}

// ignored reports whether a name was left out, by the same rules.
func (f *seenFolder) ignored(name string) bool {
	_, ok := slices.BinarySearch(f.out, name)
	return ok
}

// Root returns the hash of the whole.
func (x *Index) Root() chain.Hash {
	if x == nil || x.top == nil {
		return chain.Hash{}
	}
	return x.top.hash
}

// find returns what the last walk saw at a path (nil: nothing), when the path last changed, in nanoseconds (of a file its
// ctime, of what is not there that of the nearest folder above; 0: unknown), and whether another repository is on the way.
func (x *Index) find(path string) (n *seen, changed int64, foreign bool) {
	if x == nil || x.top == nil {
		return nil, 0, false
	}
	at := x.top
	changed = at.ctime
	for below := true; below; {
		var name string
		name, path, below = strings.Cut(path, "/")
		foreign = foreign || n != nil && n.Kind == Repo
		if n = at.find(name); n == nil {
			return nil, changed, foreign
		}
		changed = n.stat.Ctime
		if at = n.sub; at == nil && below {
			return nil, changed, foreign
		}
	}
	return n, changed, foreign
}

// Node returns what the last walk saw at a path, and reports whether it saw anything. It does not
// look into other repositories.
func (x *Index) Node(path string) (Node, bool) {
	n, _, foreign := x.find(path)
	if n == nil || foreign {
		return Node{}, false
	}
	return n.Node, true
}

// FindFolders has the folders of walks, so that states can be compared without reading them
// again. It finds what is asked for from the top downwards, as files.Diff does.
func FindFolders(all ...*Index) func(h chain.Hash) (Folder, bool) {
	known := map[chain.Hash]*seenFolder{}
	for _, x := range all {
		if x != nil && x.top != nil {
			known[x.top.hash] = x.top
		}
	}
	return func(h chain.Hash) (Folder, bool) {
		f, ok := known[h]
		if !ok {
			return nil, false
		}
		for i := range f.nodes {
			if sub := f.nodes[i].sub; sub != nil {
				known[sub.hash] = sub
			}
		}
		return f.plain(), true
	}
}

// ChangeTime tells of paths that changed between two walks when that was, in nanoseconds: of a file its
// ctime, of what is not there that of the nearest folder above. What only came with a folder that
// was moved kept its ctime: it changed when that folder did. false: unknown.
func ChangeTime(before, after *Index, changes []Change) func(path string) (int64, bool) {
	left := map[uint64]ScanStat{} // what is not where it was
	for _, c := range changes {
		if c.After != nil || before == nil {
			continue
		}
		if n, _, _ := before.find(c.Path); n != nil {
			left[n.stat.Inode] = n.stat
		}
	}
	return func(path string) (int64, bool) {
		n, changed, _ := after.find(path)
		if n != nil && n.stat.Inode != 0 && left[n.stat.Inode] == n.stat {
			_, changed, _ = after.find(newest(before, path))
		}
		return changed, changed != 0
	}
}

// newest returns the first folder on the way to a path that was not there before; the path itself if
// all were.
func newest(before *Index, path string) string {
	for i, c := range path {
		if c != '/' {
			continue
		}
		if n, _, _ := before.find(path[:i]); n == nil {
			return path[:i]
		}
	}
	return path
}

package files

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"slices"
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

// Kind classifies a node.
type Kind byte

// The kinds.
const (
	File  Kind = 'f'
	Link  Kind = 'l'
	Dir   Kind = 'd'
	Repo  Kind = 'r' // a folder with a .git of its own; List does not go into it
	Other Kind = 'o' // a pipe, a socket, a device
)

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte{byte(k)}, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Kind) UnmarshalText(b []byte) error {
	if len(b) != 1 {
		return fmt.Errorf("%.20q is not a kind", b)
	}
	*k = Kind(b[0])
	return nil
}

// Node is one name in a folder. In the journal of restores it has no name: its path says it.
type Node struct {
	Name string     `json:"-"`
	Kind Kind       `json:"kind"`
	Mode uint16     `json:"mode"` // of files and folders: the bits of chmod
	Size int64      `json:"size"` // of files and links
	Hash chain.Hash `json:"hash"`
}

// Known reports whether the content is known.
func (n Node) Known() bool { return n.Hash != chain.Hash{} }

// Closed reports whether a state does not tell what is below it: another repository, or a folder that
// could not be read.
func (n Node) Closed() bool { return n.Kind == Repo || n.Kind == Dir && !n.Known() }

// Same reports whether two nodes stand for the same thing; nil is nothing.
func Same(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Perm returns the mode as Go has it.
func (n Node) Perm() fs.FileMode {
	out := fs.FileMode(n.Mode & 0o777)
	for bit, mode := range map[uint16]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if n.Mode&bit != 0 {
			out |= mode
		}
	}
	return out
}

// Folder lists the nodes of a folder, in the order of names.
type Folder []Node

// format is the first line of a folder's bytes.
const format = "ramet/files/1\n"

const nodeSize = 1 + 2 + 8 + len(chain.Hash{}) + 2 // without the name

// Bytes returns the bytes that are hashed and kept. The nodes must be in order.
func (f Folder) Bytes() []byte {
	size := len(format)
	for _, n := range f {
		size += nodeSize + len(n.Name)
	}
	out := append(make([]byte, 0, size), format...)
	for _, n := range f {
		out = append(out, byte(n.Kind))
		out = binary.BigEndian.AppendUint16(out, n.Mode)
		out = binary.BigEndian.AppendUint64(out, uint64(n.Size))
		out = append(out, n.Hash[:]...)
		out = binary.BigEndian.AppendUint16(out, uint16(len(n.Name)))
		out = append(out, n.Name...)
	}
	return out
}

// Hash names the folder.
func (f Folder) Hash() chain.Hash { return chain.Sum(f.Bytes()) }

// Find returns the node of a name.
func (f Folder) Find(name string) *Node {
	i, ok := slices.BinarySearchFunc(f, name, func(n Node, name string) int { return strings.Compare(n.Name, name) })
	if !ok {
		return nil
	}
	return &f[i]
}

// ParseFolder reads what Bytes wrote. Whatever else is STORAGE_CORRUPT.
func ParseFolder(b []byte) (Folder, error) {
	rest, ok := strings.CutPrefix(string(b), format)
	if !ok {
		return nil, broken("its first line is another")
	}
	var out Folder
	for last := ""; len(rest) > 0; {
		if len(rest) < nodeSize {
			return nil, broken("it is cut")
		}
		n := Node{Kind: Kind(rest[0]), Mode: binary.BigEndian.Uint16([]byte(rest[1:3])), Size: int64(binary.BigEndian.Uint64([]byte(rest[3:11])))}
		copy(n.Hash[:], rest[11:])
		size := int(binary.BigEndian.Uint16([]byte(rest[nodeSize-2 : nodeSize])))
		rest = rest[nodeSize:]
		if len(rest) < size {
			return nil, broken("it is cut")
		}
		n.Name, rest = rest[:size], rest[size:]
		if n.Name == "" || n.Name == "." || n.Name == ".." || strings.ContainsAny(n.Name, "/\x00") || IsGit(n.Name) || len(out) > 0 && n.Name <= last {
			return nil, broken("a name in it cannot be one, or is out of order")
		}
		if !strings.ContainsRune("fldro", rune(n.Kind)) || n.Size < 0 || n.Mode > 0o7777 {
			return nil, broken("a node in it is none")
		}
		last = n.Name
		out = append(out, n)
	}
	return out, nil
}

// IsGit reports whether a name is git's own, in any spelling that a file system could take for
// it.
func IsGit(name string) bool {
	return strings.EqualFold(strings.TrimRight(name, ". "), ".git") || strings.EqualFold(name, "git~1")
}

func broken(why string) error {
	return fault.New(fault.StorageCorrupt, "the stored state of a folder cannot be read: %s", why)
}

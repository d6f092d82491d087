package files

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

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
		if !validName(n.Name) || len(out) > 0 && n.Name <= last {
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

// validName keeps out what would lead elsewhere when it is restored.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && !IsGit(name)
}

// IsGit reports whether a name is git's own, in any spelling that a file system could take for
// it.
func IsGit(name string) bool {
	return strings.EqualFold(strings.TrimRight(name, ". "), ".git") || strings.EqualFold(name, "git~1")
}

func broken(why string) error {
	return fault.New(fault.StorageCorrupt, "the stored state of a folder cannot be read: %s", why)
}

package files

import (
	"encoding/binary"
	"slices"
	"strings"

	"ramet/internal/base/chain"
)

// deltaFormat is the first line of a folder that is kept as what differs from another. It is
// a form of keeping, and never hashed:
//
//	"ramet/files-delta/1\n" · hash of the other folder (32) · count of names that are gone
//	(4, big-endian), each with its length (2) before it · the nodes that are new or changed, as
//	a Folder has them
const deltaFormat = "ramet/files-delta/1\n"

// Delta returns a folder as what differs from another one.
func Delta(base, f Folder) []byte {
	out := append([]byte(nil), deltaFormat...)
	h := base.Hash()
	out = append(out, h[:]...)
	var gone []string
	for _, n := range base {
		if f.Find(n.Name) == nil {
			gone = append(gone, n.Name)
		}
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(gone)))
	for _, name := range gone {
		out = append(binary.BigEndian.AppendUint16(out, uint16(len(name))), name...)
	}
	var other Folder
	for i := range f {
		if !Same(base.Find(f[i].Name), &f[i]) {
			other = append(other, f[i])
		}
	}
	return append(out, other.Bytes()...)
}

// DeltaBase returns the folder that a delta differs from; false: it is no delta.
func DeltaBase(b []byte) (h chain.Hash, ok bool) {
	if len(b) < len(deltaFormat)+len(h)+4 || string(b[:len(deltaFormat)]) != deltaFormat {
		return h, false
	}
	copy(h[:], b[len(deltaFormat):])
	return h, true
}

// ApplyDelta returns the folder that a delta stands for.
func ApplyDelta(base Folder, b []byte) (Folder, error) {
	if _, ok := DeltaBase(b); !ok {
		return nil, broken("it is not a delta")
	}
	rest := b[len(deltaFormat)+len(chain.Hash{}):]
	n := int(binary.BigEndian.Uint32(rest))
	rest = rest[4:]
	gone := map[string]bool{}
	for range n {
		if len(rest) < 2 {
			return nil, broken("it is cut")
		}
		size := int(binary.BigEndian.Uint16(rest))
		if rest = rest[2:]; len(rest) < size {
			return nil, broken("it is cut")
		}
		gone[string(rest[:size])] = true
		rest = rest[size:]
	}
	other, err := ParseFolder(rest)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(other)
	for _, n := range base {
		if !gone[n.Name] && other.Find(n.Name) == nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

package files

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// A pack is
//
//	"ramet-pack/1\n" · payloads · index · footer
//
// with an index of the repository's folder (length, 4 bytes; then its bytes), and for each
// object: hash (32) · form (1: 'z' zstd, 'g' an id of git,
// 'A' to 'X' a delta of a folder in zstd, one to twenty-four away from a whole one) · offset (8) · length (4) · length of the
// content (8). The footer is: offset of the index (8) · SHA-256 of the index (32). Numbers are
// big-endian.
const (
	magic     = "ramet-pack/1\n"
	entrySize = 32 + 1 + 8 + 4 + 8
	footSize  = 8 + 32

	zipped byte = 'z'
	inGit  byte = 'g'
	// A delta of a folder: the first one, and its depth more.
	firstDelta byte = 'A'
)

// entry is one object of a pack.
type entry struct {
	hash   chain.Hash
	form   byte
	offset int64
	length int // of the payload
	size   int64
}

// contentLargest is the most that one object may hold when it is unpacked.
const contentLargest = 1 << 30

var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		return fault.Must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2)))
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		return fault.Must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(contentLargest)))
	})
)

// writeIndex ends a pack.
func writeIndex(w io.Writer, at int64, repo string, entries []entry) error {
	index := binary.BigEndian.AppendUint32(nil, uint32(len(repo)))
	index = append(index, repo...)
	for _, e := range entries {
		index = append(append(index, e.hash[:]...), e.form)
		index = binary.BigEndian.AppendUint64(index, uint64(e.offset))
		index = binary.BigEndian.AppendUint32(index, uint32(e.length))
		index = binary.BigEndian.AppendUint64(index, uint64(e.size))
	}
	sum := sha256.Sum256(index)
	index = binary.BigEndian.AppendUint64(index, uint64(at))
	_, err := w.Write(append(index, sum[:]...))
	return err
}

// readIndex reads what a pack holds.
func readIndex(path string) (repo string, entries []entry, err error) {
	f, err := durable.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, durable.Failure("read", path, err)
	}
	damaged := fault.New(fault.StorageCorrupt, "the pack %s is damaged", path).
		WithHint("files of states that it held cannot be restored; restore it from a backup")
	foot := make([]byte, footSize)
	if info.Size() < int64(len(magic)+footSize) {
		return "", nil, damaged
	}
	if _, err := f.ReadAt(foot, info.Size()-footSize); err != nil {
		return "", nil, durable.Failure("read", path, err)
	}
	at := int64(binary.BigEndian.Uint64(foot))
	if at < int64(len(magic)) || at > info.Size()-footSize {
		return "", nil, damaged
	}
	index := make([]byte, info.Size()-footSize-at)
	if _, err := f.ReadAt(index, at); err != nil {
		return "", nil, durable.Failure("read", path, err)
	}
	if sum := sha256.Sum256(index); string(sum[:]) != string(foot[8:]) || len(index) < 4 {
		return "", nil, damaged
	}
	n := int(binary.BigEndian.Uint32(index))
	if index = index[4:]; n > len(index) || (len(index)-n)%entrySize != 0 {
		return "", nil, damaged
	}
	repo, index = string(index[:n]), index[n:]
	entries = make([]entry, 0, len(index)/entrySize)
	for ; len(index) > 0; index = index[entrySize:] {
		e := entry{form: index[32], offset: int64(binary.BigEndian.Uint64(index[33:])),
			length: int(binary.BigEndian.Uint32(index[41:])), size: int64(binary.BigEndian.Uint64(index[45:]))}
		copy(e.hash[:], index)
		entries = append(entries, e)
	}
	return repo, entries, nil
}

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

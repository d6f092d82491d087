package files

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
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

// holds reports whether the last walk saw just this file at a path, or left the path out.
func (x *Index) holds(path string, is ScanStat) bool {
	if n, _, _ := x.find(path); n != nil {
		return n.stat == is
	}
	if x == nil {
		return false
	}
	for at, below := x.top, true; at != nil && below; {
		var name string
		name, path, below = strings.Cut(path, "/")
		if at.ignored(name) {
			return true
		}
		if n := at.find(name); n != nil {
			at = n.sub
		} else {
			at = nil
		}
	}
	return false
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

// An index in a file is a cache: what cannot be read is as good as none. It is
//
//	"ramet-index/1\n" · generation · the top folder · SHA-256 of all before
//
// where texts have their length before them, and lists their count; numbers are varints.
const indexFormat = "ramet-index/1\n"

// Save puts an index into a file, which Load reads. It is not synced: after a power cut it may
// be an old one, or none.
func (x *Index) Save(path string) error {
	if x == nil || x.top == nil {
		return nil
	}
	w := writer{b: append(make([]byte, 0, 1<<16), indexFormat...)}
	w.text(x.Generation)
	w.folder(x.top)
	sum := sha256.Sum256(w.b)
	return durable.Failure("write", path, replace(path, append(w.b, sum[:]...)))
}

// replace puts a content at a path in one step, and does not wait for the disk.
func replace(path string, content []byte) error {
	f, err := step.CreateTemp(filepath.Dir(path), ".index-*")
	if err != nil {
		return err
	}
	defer step.Remove(f.Name()) // where it was not renamed
	_, err = f.Write(content)
	if shut := f.Close(); err == nil {
		err = shut
	}
	if err != nil {
		return err
	}
	return step.Rename(f.Name(), path)
}

// LoadIndex reads an index; nil: there is none that can be used.
func LoadIndex(path string) (*Index, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.Failure("read", path, err)
	}
	n := len(b) - sha256.Size
	if n < len(indexFormat) || string(b[:len(indexFormat)]) != indexFormat {
		return nil, nil
	}
	if sum := sha256.Sum256(b[:n]); string(sum[:]) != string(b[n:]) {
		return nil, nil
	}
	r := reader{b: b[len(indexFormat):n]}
	x := &Index{Generation: r.text()}
	x.top = r.folder()
	if r.bad {
		return nil, nil
	}
	return x, nil
}

type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) signed(n int64)  { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) folder(f *seenFolder) {
	w.number(f.rules)
	w.signed(f.ctime)
	w.b = append(w.b, f.hash[:]...)
	w.number(uint64(len(f.out)))
	for _, name := range f.out {
		w.text(name)
	}
	w.number(uint64(len(f.nodes)))
	for i := range f.nodes {
		w.seen(&f.nodes[i])
	}
}

const (
	flagRacy = 1 << iota
	flagKept
	flagSub
)

func (w *writer) seen(s *seen) {
	flags := byte(0)
	if s.racy {
		flags |= flagRacy
	}
	if s.kept {
		flags |= flagKept
	}
	if s.sub != nil {
		flags |= flagSub
	}
	w.b = append(w.b, byte(s.Kind), flags)
	w.text(s.Name)
	w.number(uint64(s.Mode))
	w.signed(s.Size)
	w.b = append(w.b, s.Hash[:]...)
	w.b = append(w.b, byte(s.stat.Kind))
	w.number(uint64(s.stat.Mode))
	w.signed(s.stat.Size)
	w.number(s.stat.Device)
	w.number(s.stat.Inode)
	w.signed(s.stat.Mtime)
	w.signed(s.stat.Ctime)
	if s.sub != nil {
		w.folder(s.sub)
	}
}

// reader reads what writer wrote; bad: it is something else.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, 64)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	r.take(max(size, 0))
	r.bad = r.bad || size <= 0
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.b)
	r.take(max(size, 0))
	r.bad = r.bad || size <= 0
	return n
}

func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	if r.bad {
		return ""
	}
	return string(r.take(n))
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) folder() *seenFolder {
	f := &seenFolder{rules: r.number(), ctime: r.signed()}
	copy(f.hash[:], r.take(len(f.hash)))
	for range r.count() {
		f.out = append(f.out, r.text())
	}
	n := r.count()
	f.nodes = make([]seen, 0, n)
	for i := 0; i < n && !r.bad; i++ {
		f.nodes = append(f.nodes, r.seen())
	}
	return f
}

func (r *reader) seen() seen {
	kind, flags := Kind(r.byte()), r.byte()
	s := seen{racy: flags&flagRacy != 0, kept: flags&flagKept != 0}
	s.Kind, s.Name, s.Mode, s.Size = kind, r.text(), uint16(r.number()), r.signed()
	copy(s.Hash[:], r.take(len(s.Hash)))
	s.stat = ScanStat{Kind: Kind(r.byte()), Mode: uint16(r.number()), Size: r.signed(), Device: r.number(), Inode: r.number(),
		Mtime: r.signed(), Ctime: r.signed()}
	if flags&flagSub != 0 && !r.bad {
		s.sub = r.folder()
	}
	return s
}

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

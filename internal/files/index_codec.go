package files

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/step"
)

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

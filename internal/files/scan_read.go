package files

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"ramet/internal/base/chain"
)

const (
	tries = 3                     // to read a file that changes
	quiet = 50 * time.Millisecond // since its last change, before a file counts as settled
)

// content finds the hash of a file or link in a folder: that of the index, or by reading.
func (w *walk) content(p ScanPlace, folder string, n, was *seen) error {
	if was != nil && was.Known() && !was.racy && was.stat == n.stat && (!was.kept || w.has == nil || w.has(was.Hash)) {
		n.Hash, n.kept = was.Hash, was.kept
		w.seen.Add(1)
		return nil
	}
	if w.over() {
		return nil // unknown, and the result says so
	}
	var err error
	if n.Kind == Link {
		err = w.link(p, n)
	} else {
		err = w.file(p, join(folder, n.Name), n)
	}
	switch kept := (keeping{}); {
	case errors.As(err, &kept):
		return err
	case errors.Is(err, errStopped):
		return nil
	case err != nil:
		n.Hash = chain.Hash{} // it cannot be read
	}
	w.seen.Add(1)
	return nil
}

func (w *walk) link(p ScanPlace, n *seen) error {
	target, err := p.Target(n.Name)
	if err != nil {
		return err
	}
	n.Size = int64(len(target))
	n.Hash, n.kept = chain.Sum([]byte(target)), true
	if err := w.keep.Add(n.Hash, []byte(target)); err != nil {
		return keeping{err}
	}
	return nil
}

// errChanged says that a file is not what it was a moment ago.
var (
	errChanged = errors.New("it changes while it is read")
	errStopped = errors.New("stopped")
)

// file reads a file until it holds still.
func (w *walk) file(p ScanPlace, rel string, n *seen) (err error) {
	for range tries {
		if err = w.once(p, rel, n); !errors.Is(err, errChanged) {
			return err
		}
		st, err := p.Stat(n.Name)
		if err != nil || st.Kind != File {
			return errChanged
		}
		n.stat, n.Node = st, node(n.Name, st)
	}
	return err
}

func (w *walk) once(p ScanPlace, rel string, n *seen) error {
	begun := w.now()
	f, err := p.Open(n.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Self(); err != nil || st != n.stat {
		return errChanged
	}
	w.read.Add(1)
	oid := ""
	if w.git != nil {
		oid, _ = w.tracked().id(rel)
	}
	sum := sums(oid, n.Size)
	whole := n.Size <= w.o.Largest
	var buffer *bytes.Buffer
	var out io.Writer = sum
	if whole {
		buffer = buffers.Get().(*bytes.Buffer)
		defer buffers.Put(buffer)
		buffer.Reset()
		out = io.MultiWriter(sum, buffer)
	}
	size, err := w.copy(out, f)
	if err != nil {
		return err
	}
	if st, err := f.Self(); err != nil || st != n.stat || size != n.Size {
		return errChanged
	}
	n.Hash = sum.hash()
	n.racy = begun.UnixNano()-max(n.stat.Ctime, n.stat.Mtime) < int64(quiet)
	switch {
	case oid != "" && sum.oid() == oid:
		n.kept, err = true, w.keep.AddGit(n.Hash, oid, size)
	case whole && w.kept.Add(size) <= w.o.Most && (w.o.Secret == nil || !w.o.Secret(buffer.Bytes())):
		n.kept, err = true, w.keep.Add(n.Hash, buffer.Bytes())
	}
	if err != nil {
		return keeping{err}
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// copy reads a file, until the walk is over.
func (w *walk) copy(to io.Writer, f io.Reader) (int64, error) {
	var size int64
	chunk := chunks.Get().(*[]byte)
	defer chunks.Put(chunk)
	for n := 0; ; n++ {
		if n%64 == 63 && w.over() {
			return size, errStopped
		}
		got, err := f.Read(*chunk)
		to.Write((*chunk)[:got])
		size += int64(got)
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

var chunks = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// twoSums are our hash of a content and, where git tracks it, the id that git would give it.
type twoSums struct {
	ours hash.Hash
	gits hash.Hash // nil: not asked for
}

func sums(oid string, size int64) *twoSums {
	s := &twoSums{ours: sha256.New()}
	switch len(oid) {
	case 2 * sha1.Size:
		s.gits = sha1.New()
	case 2 * sha256.Size:
		s.gits = sha256.New()
	default:
		return s
	}
	fmt.Fprintf(s.gits, "blob %d\x00", size)
	return s
}

func (s *twoSums) Write(b []byte) (int, error) {
	if s.gits != nil {
		s.gits.Write(b)
	}
	return s.ours.Write(b)
}

func (s *twoSums) hash() (h chain.Hash) {
	s.ours.Sum(h[:0])
	return h
}

func (s *twoSums) oid() string {
	if s.gits == nil {
		return ""
	}
	return hex.EncodeToString(s.gits.Sum(nil))
}

// mostRules limits how long a file of rules may be.
const mostRules = 1 << 20

// rulesIn returns a file of rules in an open folder; nil where there is none.
func rulesIn(p ScanPlace, name string) []byte {
	st, err := p.Stat(name)
	if err != nil || st.Kind != File || st.Size > mostRules {
		return nil
	}
	f, err := p.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostRules))
	if err != nil {
		return nil
	}
	return b
}

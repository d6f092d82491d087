package text

import (
	"bytes"
	"sync"
)

// EndsBuffer is a writer that keeps the beginning and the end of what is written to it, and takes no more memory than these.
// It is safe for concurrent use, and its Write never fails.
type EndsBuffer struct {
	Head, Tail int // how many bytes are kept of each

	mu          sync.Mutex
	first, last []byte
	total       int
}

// Write implements io.Writer.
func (e *EndsBuffer) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += n
	k := min(e.Head-len(e.first), n)
	e.first, p = append(e.first, p[:k]...), p[k:]
	e.last = append(e.last, p[max(0, len(p)-e.Tail):]...)
	if over := len(e.last) - e.Tail; over > e.Tail { // now and then, so that small pieces cost what they weigh
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return n, nil
}

// Kept returns what is kept, and how many bytes are missing between the two.
func (e *EndsBuffer) Kept() (first, last []byte, missing int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, last = bytes.Clone(e.first), bytes.Clone(e.last[max(0, len(e.last)-e.Tail):])
	return first, last, e.total - len(first) - len(last)
}

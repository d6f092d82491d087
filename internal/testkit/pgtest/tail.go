package pgtest

import (
	"bytes"
	"io"
	"sync"
)

// tail passes a log on and keeps the end of it for the error message.
type tail struct {
	next io.Writer // may be nil

	mu   sync.Mutex
	kept []byte // guarded by mu
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.next != nil {
		// The server must not stop because nobody reads its log.
		_, _ = t.next.Write(p)
	}
	return len(p), nil
}

// String is the end of the log, ready to follow a message, or nothing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := bytes.TrimSpace(t.kept)
	if len(kept) == 0 {
		return ""
	}
	return "\nits log ends with:\n" + string(kept)
}

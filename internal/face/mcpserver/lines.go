package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"ramet/internal/base/text"
)

// lines passes on those lines of a client that are JSON, and answers the others: one bad line does not end the server.
type lines struct {
	in      *bufio.Reader
	answers io.Writer
	rest    []byte                // of the line that is being read
	failed  atomic.Pointer[error] // why no line can be read any more
}

func newLines(in io.Reader, answers io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), answers: answers}
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, whole, err := l.next()
		switch {
		case !whole:
			l.refuse(jsonrpc.CodeParseError, "the line is longer than 4 MiB")
		case len(bytes.TrimSpace(line)) == 0:
		case !json.Valid(line):
			l.refuse(jsonrpc.CodeParseError, "the line is not JSON: "+text.Line(string(line), 80))
		default:
			l.rest = line
		}
		if err != nil && len(l.rest) == 0 {
			l.failed.Store(&err)
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next line; whole is false, and the line empty, if it is too long.
func (l *lines) next() (line []byte, whole bool, err error) {
	for whole = true; ; {
		piece, err := l.in.ReadSlice('\n')
		if whole = whole && len(line)+len(piece) <= maxLine; whole {
			line = append(line, piece...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// refuse answers a line without knowing which request it was.
func (l *lines) refuse(code int, why string) {
	frame, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
	if err == nil {
		_, err = l.answers.Write(append(frame, '\n'))
	}
	_ = err // who no longer reads answers misses this one, too
}

// Close implements io.Closer. The caller closes the stream.
func (l *lines) Close() error { return nil }

// lockedWriter writes one frame at a time to a stream that the caller closes.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer // guarded by mu
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// Close implements io.Closer.
func (w *lockedWriter) Close() error { return nil }

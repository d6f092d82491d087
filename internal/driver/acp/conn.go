package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/model/llm"
)

// Message is a request, a notification or an answer of JSON-RPC.
type Message struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

// WantsAnswer reports whether the message is a request.
func (m Message) WantsAnswer() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// ErrGone ends calls when the other side has closed the connection.
var ErrGone = errors.New("the connection is closed")

// Conn exchanges messages of JSON-RPC, one a line. It serves both sides of the Agent Client Protocol, and is safe
// for concurrent use.
type Conn struct {
	Write   func(line []byte) error
	MaxLine int           // bytes of one message
	Take    func(Message) // receives requests and notifications, in order, from the goroutine that reads
	Bad     func(BadLine) // receives lines that are no message
	// Clean takes secrets out of the errors of answers; nil: they stay.
	Clean func(string) string

	writing sync.Mutex

	mu     sync.Mutex
	number int64
	calls  map[string]pendingCall
	closed bool
}

// BadLine is a line that is no message, or an answer to no request.
type BadLine struct {
	Text    []byte // of a line that is too long, its first 4 KB
	Size    int    // in bytes
	Cut     bool   // the input ended before the line did
	Message Message
	Err     error // errors of JSON; nil: the message makes no sense
}

// pendingCall is a request without an answer yet.
type pendingCall struct {
	answer   chan Message
	onAnswer func() // called by the goroutine that reads, before it reads further; may be nil
}

// Call sends a request and reads its answer into result, which may be nil.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answer, err := c.Ask(method, params, nil)
	if err != nil {
		return err
	}
	select {
	case m, open := <-answer:
		return m.decode(open, result)
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// Ask sends a request. The channel receives its answer, or is closed without one.
func (c *Conn) Ask(method string, params any, onAnswer func()) (<-chan Message, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrGone
	}
	c.number++
	id := strconv.FormatInt(c.number, 10)
	answer := make(chan Message, 1)
	if c.calls == nil {
		c.calls = map[string]pendingCall{}
	}
	c.calls[id] = pendingCall{answer, onAnswer}
	c.mu.Unlock()
	return answer, c.send(Message{ID: json.RawMessage(id), Method: method, Params: raw})
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return c.send(Message{Method: method, Params: raw})
}

// Answer answers a request. Errors of writing are left to Write.
func (c *Conn) Answer(id json.RawMessage, result any, failed *sdk.RequestError) {
	out := Message{ID: id, Error: failed}
	if failed == nil {
		raw, err := json.Marshal(result)
		if err != nil {
			out.Error = sdk.NewInternalError(map[string]any{"error": err.Error()})
		}
		out.Result = raw
	}
	c.send(out)
}

func (c *Conn) send(m Message) error {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: %v", ErrGone, err)
	}
	return nil
}

// decode reads an answer.
func (m Message) decode(open bool, result any) error {
	switch {
	case !open:
		return ErrGone
	case m.Error != nil:
		return m.Error
	case result == nil || len(m.Result) == 0 || string(m.Result) == "null":
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("its answer is not readable: %v", err)
	}
	return nil
}

// Read takes messages until the other side ends. Then all calls end.
func (c *Conn) Read(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, size, err := c.readLine(r)
		switch {
		case size > c.MaxLine:
			c.Bad(BadLine{Text: line, Size: size, Err: bufio.ErrTooLong})
		case len(line) > 0:
			c.takeLine(line, err != nil)
		}
		if err != nil {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.calls {
		close(p.answer)
	}
	c.calls = nil
}

// maxHead limits the part that is kept of a line that is too long.
const maxHead = 4 << 10

// readLine reads a line, without its end.
func (c *Conn) readLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if size += len(piece); size <= c.MaxLine {
			line = append(line, piece...)
		} else {
			line = line[:min(len(line), maxHead)]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > c.MaxLine {
			return line, size, err
		}
		line = bytes.TrimSpace(line)
		return line, len(line), err
	}
}

func (c *Conn) takeLine(line []byte, cut bool) {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		c.Bad(BadLine{Text: line, Size: len(line), Cut: cut, Err: err})
		return
	}
	if m.Method != "" {
		c.Take(m)
		return
	}
	c.mu.Lock()
	p, known := c.calls[string(m.ID)]
	delete(c.calls, string(m.ID))
	c.mu.Unlock()
	if !known {
		c.Bad(BadLine{Text: line, Size: len(line), Message: m})
		return
	}
	if p.onAnswer != nil {
		p.onAnswer()
	}
	p.answer <- c.cleanError(m)
}

// cleanError takes secrets out of an answer's error, which is shown as it is.
func (c *Conn) cleanError(m Message) Message {
	if m.Error == nil || c.Clean == nil {
		return m
	}
	m.Error.Message = c.Clean(m.Error.Message)
	if raw, err := json.Marshal(m.Error.Data); err == nil {
		if kept := c.Clean(string(raw)); kept != string(raw) {
			m.Error.Data = kept
		}
	}
	return m
}

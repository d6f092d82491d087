package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/model/llm"
)

const (
	mostLine  = 24 << 20         // bytes of one message
	writeTime = 30 * time.Second // that a program may take to read one
	codeAuth  = -32000           // it wants its user to log in
)

// errGone is why calls end when the program says no more.
var errGone = errors.New("the program has ended")

// message is one of JSON-RPC, of any kind.
type message struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

// wire is the two pipes to a program.
type wire struct {
	in  *os.File // it reads this
	out *os.File // and writes this
	// heard is told what the program asks and tells, by the goroutine that reads, in order. A
	// reply is for what it asked.
	heard func(method string, params json.RawMessage, reply func(result any, err *sdk.RequestError))
	odd   func(what string)
	clean func(string) string // of what it says when something fails

	writing sync.Mutex

	mu     sync.Mutex
	number int64
	calls  map[string]pending
	over   error // why nothing more comes
}

// pending is a request that waits for its answer.
type pending struct {
	answer chan message
	then   func() // is called by the goroutine that reads, before anything that follows; nil: nothing
}

// call asks the program and waits for its answer.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	answer, err := w.ask(method, params, nil)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		return m.into(result)
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// ask sends a request. then is called when its answer is read.
func (w *wire) ask(method string, params any, then func()) (<-chan message, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	if w.over != nil {
		defer w.mu.Unlock()
		return nil, w.over
	}
	w.number++
	id := strconv.FormatInt(w.number, 10)
	answer := make(chan message, 1)
	if w.calls == nil {
		w.calls = map[string]pending{}
	}
	w.calls[id] = pending{answer, then}
	w.mu.Unlock()
	return answer, w.send(message{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: raw})
}

// tell sends something that has no answer.
func (w *wire) tell(method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return w.send(message{JSONRPC: "2.0", Method: method, Params: raw})
}

func (w *wire) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	w.in.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: %v", errGone, err)
	}
	return nil
}

// into reads an answer.
func (m message) into(result any) error {
	if m.Error != nil {
		return m.Error
	}
	if m.Result == nil && m.ID == nil {
		return errGone
	}
	if result == nil || len(m.Result) == 0 || string(m.Result) == "null" {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("its answer is not readable: %v", err)
	}
	return nil
}

// read hears the program until it says no more. It returns when everything was taken.
func (w *wire) read() {
	in := bufio.NewReaderSize(w.out, 64<<10)
	for {
		line, size, err := nextLine(in)
		if size > len(line) {
			w.odd(fmt.Sprintf("a line of %d bytes was left out", size))
		} else if len(line) > 0 && (err == nil || json.Valid(line)) {
			w.take(line)
		}
		if err != nil {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = errGone
	for _, c := range w.calls {
		c.answer <- message{}
	}
	w.calls = nil
}

// nextLine is the next line without its end. Of one that is too long only the size is known.
func nextLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if size += len(piece); size <= mostLine {
			line = append(line, piece...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = io.EOF
		}
		if size > mostLine {
			return nil, size, err
		}
		line = bytes.TrimSpace(line)
		return line, len(line), err
	}
}

// take takes one message.
func (w *wire) take(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		w.odd("it says something that is no message: " + string(line[:min(len(line), 400)]))
		return
	}
	if m.Method == "" {
		w.mu.Lock()
		asked := w.calls[string(m.ID)]
		delete(w.calls, string(m.ID))
		w.mu.Unlock()
		if asked.answer == nil {
			w.odd("it answers what nobody asked: " + string(line[:min(len(line), 400)]))
			return
		}
		if asked.then != nil {
			asked.then()
		}
		asked.answer <- w.cleaned(m)
		return
	}
	var once sync.Once
	w.heard(m.Method, m.Params, func(result any, failed *sdk.RequestError) {
		once.Do(func() {
			if len(m.ID) == 0 || string(m.ID) == "null" {
				return
			}
			out := message{JSONRPC: "2.0", ID: m.ID, Error: failed}
			if failed == nil {
				out.Result, _ = json.Marshal(result)
			}
			w.send(out) // who does not read it has ended, which others notice
		})
	})
}

// cleaned is an answer whose error holds no secrets: errors are shown as they are.
func (w *wire) cleaned(m message) message {
	if m.Error == nil {
		return m
	}
	m.Error.Message = w.clean(m.Error.Message)
	if raw, err := json.Marshal(m.Error.Data); err == nil {
		if kept := w.clean(string(raw)); kept != string(raw) {
			m.Error.Data = kept
		}
	}
	return m
}

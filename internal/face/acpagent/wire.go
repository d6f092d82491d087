package acpagent

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

const (
	mostLine = 16 << 20 // bytes of one message
	mostHead = 4 << 10  // that are looked at to find out whose a longer one is
)

// message is one of JSON-RPC, of any kind.
type message struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

// asks says whether somebody waits for an answer to it.
func (m message) asks() bool { return len(m.ID) > 0 }

// errGone is why calls end when the editor says no more.
var errGone = errors.New("the editor is gone")

// wire is the two streams to the editor. It is safe for concurrent use.
type wire struct {
	out     io.Writer
	writing sync.Mutex
	broken  context.CancelCauseFunc // is told when nothing can be written

	mu     sync.Mutex
	number int64
	calls  map[string]chan message // that wait for an answer
	over   bool
}

// read hears the editor until it says no more. take is told each message, in order.
func (w *wire) read(in io.Reader, take func(message)) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, size, err := nextLine(r)
		switch {
		case size > mostLine:
			w.answer(headID(line), nil, sdk.NewInvalidRequest(map[string]any{"error": fmt.Sprintf("a message of %d bytes is too long: %d at most", size, mostLine)}))
		case len(line) > 0:
			w.take(line, take)
		}
		if err != nil {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, c := range w.calls {
		close(c)
	}
	w.calls = nil
}

// nextLine is the next line without its end. Of one that is too long only the beginning is
// kept.
func nextLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if size += len(piece); size <= mostLine {
			line = append(line, piece...)
		} else {
			line = line[:min(len(line), mostHead)]
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > mostLine {
			return line, size, err
		}
		line = bytes.TrimSpace(line)
		return line, len(line), err
	}
}

// headID is the id of a message of which only the beginning is there; null: it is not in it.
func headID(head []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nobody
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nobody
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nobody
		}
		if name == "id" && isID(value) {
			return value
		}
	}
	return nobody
}

var nobody = json.RawMessage("null")

// isID says whether it is a text or a number.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= mostHead && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// take takes one line.
func (w *wire) take(line []byte, take func(message)) {
	var m message
	switch err := json.Unmarshal(line, &m); {
	case !json.Valid(line):
		w.answer(nobody, nil, sdk.NewParseError(map[string]any{"error": err.Error()}))
	case err != nil:
		w.answer(nobody, nil, sdk.NewInvalidRequest(map[string]any{"error": "a message is an object with the members of JSON-RPC"}))
	case m.asks() && !isID(m.ID):
		w.answer(nobody, nil, sdk.NewInvalidRequest(map[string]any{"error": "an id is a text or a number"}))
	case m.Method != "":
		take(m)
	case m.asks() && (m.Result != nil || m.Error != nil):
		w.mu.Lock()
		c := w.calls[string(m.ID)]
		delete(w.calls, string(m.ID))
		w.mu.Unlock()
		if c != nil { // else it answers what nobody asked, or nobody waits for any more
			c <- m
		}
	default:
		id := nobody
		if m.asks() {
			id = m.ID
		}
		w.answer(id, nil, sdk.NewInvalidRequest(map[string]any{"error": "it has no method"}))
	}
}

// answer answers a request.
func (w *wire) answer(id json.RawMessage, result any, failed *sdk.RequestError) {
	out := message{JSONRPC: "2.0", ID: id, Error: failed}
	if failed == nil {
		raw, err := json.Marshal(result)
		if err != nil {
			out.Error = sdk.NewInternalError(map[string]any{"error": err.Error()})
		}
		out.Result = raw
	}
	w.send(out)
}

// tell sends something that has no answer.
func (w *wire) tell(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		return // of our own making; the tests send every kind
	}
	w.send(message{JSONRPC: "2.0", Method: method, Params: raw})
}

// call asks the editor and waits for its answer.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return errGone
	}
	w.number++
	id := strconv.FormatInt(w.number, 10)
	if w.calls == nil {
		w.calls = map[string]chan message{}
	}
	w.calls[id] = answer
	w.mu.Unlock()
	w.send(message{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: raw})
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return errGone
		case m.Error != nil:
			return m.Error
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		w.mu.Lock()
		delete(w.calls, id)
		w.mu.Unlock()
		return llm.Ended(ctx)
	}
}

// send writes one message, whole.
func (w *wire) send(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		w.broken(fmt.Errorf("%w: %v", errGone, err))
	}
}

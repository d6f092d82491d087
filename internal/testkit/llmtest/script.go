package llmtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// ScriptOrigin marks the script's thinking.
const ScriptOrigin = "script"

// Gate waits until something is true, or ctx ends.
type Gate func(ctx context.Context, name string) error

// Script is a scripted provider. Calls may run concurrently; each takes its reply
// when it begins.
//
// A script holds one JSON object a line; empty lines and lines that begin with # are skipped. Each object is
// one reply, and a request gets the first reply that matches and was not used up:
//
//	{"steps": [STEP, …]}                  used once, in the order of the file
//	{"when": "TEXT", "steps": […]}        only for a request whose last message contains TEXT
//	{"repeat": true, "steps": […]}        used as often as it matches
//
// A STEP is one of:
//
//	{"text": "…"}                         a piece of text; adjacent pieces are one part
//	{"thinking": "…", "signature": "…"}   a piece of thinking; a signature ends the part
//	{"call": "NAME", "args": {…}, "id": "…"}   a tool call; the id defaults to call_N
//	{"call": "NAME", "raw": "{\"cut"}     with these arguments, byte for byte
//	{"usage": {"input": 1, …}}            as llm.Usage
//	{"wait": "NAME"}                      until the gate of that name opens
//	{"error": "CODE", "message": "…", "again": true, "after_ms": 10}
//	{"cut": true}                         the stream ends here: STREAM_CUT
//	{"finish": "length"}                  the reason; defaults to stop or tool_calls
type Script struct {
	gate Gate

	mu      sync.Mutex
	replies []*reply
	calls   int // how many calls were handed out, for their ids
}

type reply struct {
	When   string `json:"when"`
	Repeat bool   `json:"repeat"`
	Steps  []step `json:"steps"`
	used   bool
}

type step struct {
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	Call      string          `json:"call"`
	Args      json.RawMessage `json:"args"`
	Raw       *string         `json:"raw"`
	ID        string          `json:"id"`
	Usage     *llm.Usage      `json:"usage"`
	Wait      string          `json:"wait"`
	Error     fault.Code      `json:"error"`
	Message   string          `json:"message"`
	Again     bool            `json:"again"`
	AfterMS   int64           `json:"after_ms"`
	Cut       bool            `json:"cut"`
	Finish    llm.Reason      `json:"finish"`
}

// ReadScript reads a script from a file.
func ReadScript(path string, gate Gate) (*Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read script: %w", err)
	}
	return ParseScript(string(text), gate)
}

// OpenScript reads a script whose gates are named pipes.
func OpenScript(path string) (llm.Provider, error) {
	m, err := ReadScript(path, WaitForPipe)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ParseScript reads a script. A line that is not understood is INVALID_CONFIG. A nil
// gate is open.
func ParseScript(text string, gate Gate) (*Script, error) {
	if gate == nil {
		gate = func(ctx context.Context, _ string) error { return ctx.Err() }
	}
	m := &Script{gate: gate}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var r reply
		if err := dec.Decode(&r); err != nil {
			return nil, fault.New(fault.InvalidConfig, "script, line %d: %w", n, err)
		}
		m.replies = append(m.replies, &r)
	}
	if err := lines.Err(); err != nil {
		return nil, fault.New(fault.InvalidConfig, "script: %w", err)
	}
	return m, nil
}

// Left returns how many replies that are taken once were not.
func (m *Script) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.replies {
		if !r.used && !r.Repeat {
			n++
		}
	}
	return n
}

// Stream plays the next reply that fits.
func (m *Script) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		if ctx.Err() != nil {
			yield(llm.Fail(llm.Ended(ctx)))
			return
		}
		body, err := json.Marshal(r)
		if err != nil {
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "encode request: %w", err)))
			return
		}
		if !yield(llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/script", Body: body}}) {
			return
		}
		steps, ok := m.take(r)
		if !ok {
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "the script has no reply (left) for this request").
				WithHint("add one")))
			return
		}
		p := player{ctx: ctx, yield: yield, gate: m.gate}
		p.play(steps)
	}
}

func (m *Script) take(r llm.Request) ([]step, bool) {
	last := ""
	if n := len(r.Messages); n > 0 {
		for _, p := range r.Messages[n-1].Parts {
			if !p.Aside {
				last += p.Text + "\n"
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.replies {
		if one.used || !strings.Contains(last, one.When) {
			continue
		}
		one.used = !one.Repeat
		steps := slices.Clone(one.Steps)
		for i := range steps {
			if steps[i].Call != "" && steps[i].ID == "" {
				m.calls++
				steps[i].ID = fmt.Sprintf("call_%d", m.calls)
			}
		}
		return steps, true
	}
	return nil, false
}

// WaitForPipe waits until something is written to the named pipe at a path. It is a gate for a test in another process.
func WaitForPipe(ctx context.Context, path string) error {
	// Opened for writing too, so that opening does not wait for the writer.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := f.Read(make([]byte, 1)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
}

// ScriptGates are the gates of a script, which a test opens by name.
type ScriptGates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *ScriptGates) channel(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[string]chan struct{}{}
	}
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// Open opens a gate for good.
func (g *ScriptGates) Open(name string) {
	c := g.channel(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// Wait waits for a gate; it is a Gate.
func (g *ScriptGates) Wait(ctx context.Context, name string) error {
	select {
	case <-g.channel(name):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

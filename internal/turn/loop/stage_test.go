package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a turn with everything around it, in memory.
type stage struct {
	t     *testing.T
	book  *book
	c     *Conversation
	turn  Turn
	model *llmtest.Script
	gates llmtest.ScriptGates

	mu       sync.Mutex
	events   []Event
	durable  map[id.Message]bool
	requests []llm.Request
	streamed func() string
	record   *history.Permission // of what is permitted
	deny     map[string]bool
	broken   func(drafts []history.Draft) error // what Append fails with
	left     int64                              // that may be written; 0: no limit
	held     int                                // calls that are not settled
	worst    []Worst
	leftErr  error
	acting   int
	onEvent  func(Event)
}

// newStage plays a script to an agent whom the user just told something.
func newStage(t *testing.T, lines string, tools ...tool.Tool) *stage {
	t.Helper()
	s := &stage{t: t, book: newBook(), durable: map[id.Message]bool{}, deny: map[string]bool{}}
	s.model = testkit.Must(llmtest.ParseScript(lines, s.gates.Wait))(t)
	s.book.write(says(history.User, "go"))
	_, s.c = s.book.replay(t)
	s.turn = Turn{Agent: me, Ref: llm.Ref{Vendor: "script", Name: "x"}, System: []llm.Message{llm.Say(llm.System, "Be good.")},
		Limits: Limits{Again: 1}, Tools: tools, Journal: s, Guard: s, Budget: s, Emit: s.emit, Acting: s.act,
		Provider: llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
			s.mu.Lock()
			s.requests = append(s.requests, r)
			s.mu.Unlock()
			if err := acceptable(r.Messages); err != nil {
				t.Errorf("a request is not acceptable: %v", err)
			}
			if err := r.Check(); err != nil {
				t.Error(err)
			}
			return s.model.Stream(ctx, r)
		})}
	return s
}

func (s *stage) run(ctx context.Context) (Outcome, error) {
	out, err := Run(ctx, s.turn, s.c)
	if s.acting != 0 {
		s.t.Error("the barrier is still held")
	}
	_, anew := s.book.replay(s.t)
	if got, want := short(s.c.Messages()), short(anew.Messages()); got != want {
		s.t.Errorf("in memory:\n%s\nin the history:\n%s", got, want)
	}
	return out, err
}

// must is run for a turn that ends well.
func (s *stage) must() Outcome {
	s.t.Helper()
	out, err := s.run(s.t.Context())
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log())
	}
	return out
}

func (s *stage) Append(ctx context.Context, drafts ...history.Draft) ([]history.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		if err := s.broken(drafts); err != nil {
			return nil, err
		}
	}
	out := s.book.write(drafts...)
	for _, e := range out {
		s.durable[e.ID] = true
	}
	return out, nil
}

func (s *stage) Since(ctx context.Context, after id.Message) ([]history.Entry, error) {
	var out []history.Entry
	for e := range s.book.QueryRange(ctx, history.Range{Agent: me, Start: after}, history.Selection{}) {
		out = append(out, e)
	}
	return out, ctx.Err()
}

func (s *stage) Replay(ctx context.Context) (*history.Context, error) {
	return history.Replay(ctx, s.book.TreeLog, me)
}

func (s *stage) Blob(ctx context.Context, h chain.Hash) ([]byte, error) { return s.book.Blob(ctx, h) }
func (s *stage) Streaming(text func() string)                           { s.streamed = text }

func (s *stage) Decide(_ context.Context, _ tool.Spec, c tool.Call) (tool.Grant, *history.Permission, error) {
	if s.deny[c.Name] {
		return "", nil, fault.New(fault.Denied, "%s is not allowed here", c.Name)
	}
	return tool.Free, s.record, nil
}

func (s *stage) Left(context.Context) error { return s.leftErr }

// Reserve sets aside what is left; what was set aside must be given back before the next.
func (s *stage) Reserve(ctx context.Context, w Worst) (Reserved, error) {
	if s.leftErr != nil {
		return Reserved{}, s.leftErr
	}
	if s.held != 0 {
		s.t.Errorf("%d calls are not settled", s.held)
	}
	s.held++
	s.worst = append(s.worst, w)
	out := Reserved{Output: w.Output, Settle: func(context.Context) { s.held-- }}
	if s.left > 0 {
		out.Output, out.Bound = min(w.Output, s.left), true
	}
	return out, ctx.Err()
}

func (s *stage) act(ctx context.Context) (func(), error) {
	s.acting++
	return func() { s.acting-- }, ctx.Err()
}

func (s *stage) emit(e Event) {
	if e.Agent != me {
		s.t.Error("an event of nobody")
	}
	if e.Type == Recorded {
		s.mu.Lock()
		if !s.durable[e.Entry.ID] {
			s.t.Errorf("entry %d is told of and not durable", e.Entry.ID)
		}
		s.mu.Unlock()
	}
	s.events = append(s.events, e)
	if s.onEvent != nil {
		s.onEvent(e)
	}
}

// told lists the events by their types.
func (s *stage) told() string {
	var out []string
	for _, e := range s.events {
		one := string(e.Type)
		if e.Entry != nil {
			one = string(e.Entry.Kind)
		} else if e.CallID != "" {
			one += "(" + e.CallID + ")"
		}
		out = append(out, one)
	}
	return strings.Join(out, " ")
}

// log is the history in short: one entry a line, without the first.
func (s *stage) log() string {
	var out []string
	for e := range s.book.QueryRange(context.Background(), history.Range{Agent: me, Start: 1}, history.Selection{}) {
		parts, err := e.Parts()
		if err == nil {
			err = history.Fill(parts, func(h chain.Hash) ([]byte, error) { return s.book.Blob(context.Background(), h) })
		}
		m, err2 := e.Decode()
		if err != nil || err2 != nil {
			s.t.Fatal(err, err2)
		}
		line := string(e.Kind)
		if m.Call != nil {
			line += " " + m.Call.Outcome
		}
		for _, p := range parts {
			switch p.Type {
			case history.ToolCall:
				line += fmt.Sprintf(" %s:%s%s%s", p.CallID, p.Name, p.Args, p.Malformed)
			case history.Result:
				line += fmt.Sprintf(" %s=%s", p.CallID, p.Text)
				if p.IsError {
					line += "!"
				}
			default:
				line += " " + p.Text
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (s *stage) wantLog(want ...string) {
	s.t.Helper()
	if got := s.log(); got != strings.Join(want, "\n") {
		s.t.Errorf("the history is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// device is a tool made of a function.
type device struct {
	name   string
	access tool.Access
	work   func(ctx context.Context, c tool.Call) (tool.Answer, error)
}

func (d device) Spec() tool.Spec {
	return tool.Spec{Name: d.name, Access: d.access, Description: "Does.", Args: shape.Object(shape.May("n", shape.Integer(0)), shape.May("s", shape.Text(0)))}
}

func (d device) Run(ctx context.Context, c tool.Call) (tool.Answer, error) { return d.work(ctx, c) }

// echo answers with its arguments.
func echo(name string, access tool.Access) device {
	return device{name, access, func(_ context.Context, c tool.Call) (tool.Answer, error) {
		return tool.Answer{Text: name + string(c.Args)}, nil
	}}
}

func fails(name string, text string) device {
	return device{name, tool.Commands, func(context.Context, tool.Call) (tool.Answer, error) { return tool.Failed(text), nil }}
}

// together is a tool that takes its calls in a batch.
type togetherTool struct {
	device
	all func(ctx context.Context, calls []tool.Call) error
}

func (b togetherTool) RunAll(ctx context.Context, calls []tool.Call) error { return b.all(ctx, calls) }

// forker writes its results itself, as fork does.
func (s *stage) forker() togetherTool {
	return togetherTool{echo("fork", tool.Processes), func(ctx context.Context, calls []tool.Call) error {
		var drafts []history.Draft
		for _, c := range calls {
			drafts = append(drafts, history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: c.ID, Name: c.Name, Text: "child of " + c.ID}}})
		}
		_, err := s.Append(ctx, drafts...)
		return err
	}}
}

func number(args json.RawMessage) int {
	var v struct{ N int }
	if err := json.Unmarshal(args, &v); err != nil {
		panic(err)
	}
	return v.N
}

// openCalls lists calls of the whole history that have no result.
func (s *stage) openCalls() []string {
	var open []string
	for e := range s.book.QueryRange(context.Background(), history.Range{Agent: me}, history.Selection{}) {
		parts := testkit.Must(e.Parts())(s.t)
		for _, p := range parts {
			switch p.Type {
			case history.ToolCall:
				open = append(open, p.CallID)
			case history.Result:
				open = slices.DeleteFunc(open, func(one string) bool { return one == p.CallID })
			}
		}
	}
	return open
}

func script0(lines string) (*llmtest.Script, error) { return llmtest.ParseScript(lines, nil) }

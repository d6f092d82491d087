package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a workspace with a kernel on a scripted model.
type bench struct {
	t     *testing.T
	store *store.Store
	gates llmtest.ScriptGates
	zero  agent.Agent
	Options
	kernel *Kernel

	mu   sync.Mutex
	seen []loop.Event
}

// allow permits everything.
type allow struct{}

func (allow) Decide(context.Context, tool.Spec, tool.Call) (tool.Grant, *history.Permission, error) {
	return tool.Free, nil, nil
}

func newBench(t *testing.T, replies string, tools ...tool.Tool) *bench {
	t.Helper()
	b := &bench{t: t}
	s := testkit.Must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: "/"}))(t)
	b.store = s
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		s.Close()
	})
	b.zero = testkit.Must(s.Zero(t.Context()))(t)
	model := testkit.Must(llmtest.ParseScript(replies, b.gates.Wait))(t)
	b.Options = Options{
		Store: s, Owner: "here:1:a",
		Parts: Parts{
			Models: Models{Model: func(agent.Agent, llm.Ref) (Model, error) {
				return Model{Ref: llm.Ref{Vendor: "script", Name: "test"}, Info: llm.Model{Name: "test"}, Provider: model}, nil
			}},
			Toolbox: Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return tools, nil }, Guard: allow{}},
			Prompts: Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
				return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
			}},
		},
		Peers: Peers{Gone: func(string) bool { return false }, Tell: func(context.Context, ...registry.Ring) {}},
	}
	return b
}

// start starts the kernel; it is stopped at the end of the test.
func (b *bench) start() *Kernel {
	b.t.Helper()
	k := testkit.Must(Start(b.t.Context(), b.Options))(b.t)
	b.kernel = k
	seen, _ := k.Events.Subscribe(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		for e := range seen {
			b.mu.Lock()
			b.seen = append(b.seen, e)
			b.mu.Unlock()
		}
	})
	b.t.Cleanup(func() {
		k.Stop()
		reading.Wait()
	})
	return k
}

func (b *bench) exec(a id.Agent, text string) (loop.Outcome, error) {
	b.t.Helper()
	turn, err := b.kernel.Exec(b.t.Context(), a, Prompt{Text: text})
	if err != nil {
		return loop.Outcome{}, err
	}
	outcome, err := turn.Wait()
	testkit.OK(b.t, turn.Tasks(b.t.Context()))
	return outcome, err
}

// history is an agent's own entries: kind, and text or calls.
func (b *bench) history(a id.Agent) []string {
	b.t.Helper()
	entries := testkit.Must(since(b.t.Context(), b.store, a, 0))(b.t)
	var out []string
	for _, e := range entries {
		parts := testkit.Must(e.Parts())(b.t)
		testkit.OK(b.t, history.Fill(parts, func(h chain.Hash) ([]byte, error) { return b.store.Blob(b.t.Context(), h) }))
		line := string(e.Kind)
		if text := history.Plain(parts); text != "" {
			line += " " + text
		}
		out = append(out, line)
	}
	return out
}

func (b *bench) expect(a id.Agent, want ...string) {
	b.t.Helper()
	got := b.history(a)
	ok := len(got) == len(want)
	for i := range got {
		ok = ok && (got[i] == want[i] || strings.HasSuffix(want[i], "…") && strings.HasPrefix(got[i], strings.TrimSuffix(want[i], "…")))
	}
	if !ok {
		b.t.Errorf("history of %s:\n%s\nwant\n%s", a.Short(), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (b *bench) named(name string) agent.Agent {
	b.t.Helper()
	a, ok, err := b.store.Named(b.t.Context(), name)
	if err != nil || !ok {
		b.t.Fatalf("no agent %s: %v", name, err)
	}
	return a
}

// letters are the bodies of a mailbox, without the facts at their ends.
func (b *bench) letters(a id.Agent) []string {
	b.t.Helper()
	letters := testkit.Must(b.store.Letters(b.t.Context(), a, mail.Filter{}))(b.t)
	var out []string
	for _, l := range letters {
		words, _, _ := strings.Cut(l.Body, "\n\n[ramet] ")
		out = append(out, words)
	}
	return out
}

// echo says what it is told.
type echo struct {
	name string
	run  func(ctx context.Context, text string) (tool.Answer, error)
}

func (e echo) Spec() tool.Spec {
	return tool.Spec{Name: e.name, Description: "echo", Args: shape.Object(shape.May("text", shape.Text(0))), Access: tool.Commands}
}

func (e echo) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	var args struct{ Text string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Answer{}, err
	}
	if e.run != nil {
		return e.run(ctx, args.Text)
	}
	return tool.Answer{Text: args.Text}, nil
}

func TestATurnWithTools(t *testing.T) {
	b := newBench(t, `
{"steps": [{"text": "I look. "}, {"call": "echo", "args": {"text": "one"}}, {"call": "echo", "args": {"text": "two"}}, {"usage": {"input": 10, "output": 5}}]}
{"when": "two", "steps": [{"text": "Both are there."}]}
`, echo{name: "echo"})
	b.start()
	outcome, err := b.exec(b.zero.ID, "go")
	if err != nil || outcome.Text != "Both are there." || outcome.Calls != 2 || outcome.Worked != 2 || outcome.Steps != 2 {
		t.Errorf("%+v %v", outcome, err)
	}
	b.expect(b.zero.ID, "fork", "user go", `assistant I look. …`, "usage", "tool_result one", "tool_result two",
		"assistant Both are there.", "usage")
	a, err := b.store.Agent(t.Context(), b.zero.ID)
	if err != nil || a.Lease.Owner != "" || a.Spent.Tokens != 15 {
		t.Errorf("%+v %v", a, err)
	}
	if now, works := b.kernel.States()[b.zero.ID]; works {
		t.Errorf("it is still %v", now)
	}
}

func TestForkReturnsTwice(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "take the left", "name": "left"}, "id": "f1"}, {"call": "echo", "args": {"text": "first"}, "id": "e1"}, {"call": "fork", "args": {"prompt": "take the right", "name": "right"}, "id": "f2"}]}
{"when": "take the left", "steps": [{"text": "left is done"}]}
{"when": "take the right", "steps": [{"text": "right is done"}]}
{"when": "works on", "steps": [{"text": "parent goes on"}]}
{"when": "Your turn is not over", "repeat": true, "steps": [{"text": "parent goes on"}]}
`, echo{name: "echo"})
	b.start()
	outcome, err := b.exec(b.zero.ID, "divide")
	if err != nil || outcome.Text != "parent goes on" {
		t.Fatalf("%+v %v", outcome, err)
	}
	left, right := b.named("left"), b.named("right")
	if left.ForkMessage != right.ForkMessage || left.Parent != b.zero.ID {
		t.Errorf("%+v %+v", left, right)
	}
	got := b.letters(b.zero.ID)
	slices.Sort(got)
	if !slices.Equal(got, []string{"left is done", "right is done"}) {
		t.Errorf("letters %q", got)
	}
	for _, c := range []agent.Agent{left, right} {
		own := b.history(c.ID)
		if len(own) != 7 || !strings.Contains(own[1]+own[2], "You are the child") {
			t.Errorf("history of %s:\n%s", c.Name, strings.Join(own, "\n"))
		}
		// In memory and in the registry it is the same conversation.
		b.sameAsReplay(c.ID)
	}
	b.sameAsReplay(b.zero.ID)
}

// sameAsReplay compares the conversation in memory with a replay.
func (b *bench) sameAsReplay(a id.Agent) {
	b.t.Helper()
	c := testkit.Must(replay(b.t.Context(), b.store, a))(b.t)
	anew := testkit.Must(loop.NewConversation(b.t.Context(), c, b.store.Blob))(b.t)
	have, err1 := json.Marshal(b.remembered(a).Messages())
	want, err2 := json.Marshal(anew.Messages())
	if err1 != nil || err2 != nil || string(have) != string(want) {
		b.t.Errorf("in memory %s\nreplayed %s\n%v %v", have, want, err1, err2)
	}
}

func TestKillEndsTheWholeTree(t *testing.T) {
	var running sync.WaitGroup
	var ended sync.Map
	block := echo{name: "block", run: func(ctx context.Context, text string) (tool.Answer, error) {
		running.Done()
		<-ctx.Done()
		ended.Store(text, true)
		return tool.Answer{}, ctx.Err()
	}}
	b := newBench(t, `
{"when": "begin", "steps": [{"call": "fork", "args": {"prompt": "task A", "name": "a"}}]}
{"when": "task A", "steps": [{"call": "fork", "args": {"prompt": "task B", "name": "b"}}]}
{"when": "task B", "steps": [{"call": "block", "args": {"text": "b"}}]}
{"when": "works on", "steps": [{"call": "block", "args": {"text": "other"}}]}
{"when": "works on", "steps": [{"call": "block", "args": {"text": "other2"}}]}
`, block)
	b.start()
	running.Add(3)
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "begin"}))(t)
	running.Wait()
	a, child := b.named("a"), b.named("b")
	done, err := b.kernel.Kill(t.Context(), registry.Kill{Agent: a.ID, Cascade: true, Reason: "enough"})
	if err != nil || len(done.Victims) != 2 {
		t.Fatalf("%+v %v", done, err)
	}
	if _, ok := ended.Load("b"); !ok {
		t.Error("kill returned while a tool of the victim ran")
	}
	for _, v := range []id.Agent{a.ID, child.ID} {
		h := b.history(v)
		if !strings.HasPrefix(h[len(h)-1], "killed") {
			t.Errorf("something was written after the end: %q", h)
		}
		if b.kernel.lookup(v) != nil {
			t.Error("a dead agent is at work")
		}
	}
	if _, err := b.kernel.Exec(t.Context(), child.ID, Prompt{Text: "again"}); err == nil {
		turn, _ := b.kernel.Exec(t.Context(), child.ID, Prompt{Text: "again"})
		if _, err := turn.Wait(); !fault.Is(err, fault.DeadAgent) {
			t.Errorf("a dead agent works: %v", err)
		}
	}
	if got := b.letters(b.zero.ID); len(got) != 1 || !strings.Contains(got[0], "was killed: enough") {
		t.Errorf("letters %q", got)
	}
	by := history.By(t.Context(), history.Actor{Who: "ann", Face: history.Terminal})
	if ended, err := b.kernel.Interrupt(by, Stop{Agent: b.zero.ID}); err != nil || !ended {
		t.Error(ended, err)
	}
	if _, err := turn.Wait(); !fault.Is(err, fault.Cancelled) {
		t.Errorf("the parent's turn: %v", err)
	}
	h := b.history(b.zero.ID)
	if !slices.ContainsFunc(h, func(s string) bool { return strings.HasPrefix(s, "tool_result interrupted") }) {
		t.Errorf("no result for the interrupted call: %q", h)
	}
	// Whoever stopped it is named; the prompt and the results are nobody's.
	for e, err := range b.store.QueryRange(t.Context(), history.Range{Agent: b.zero.ID}, history.Selection{}) {
		m, derr := e.Decode()
		if err != nil || derr != nil {
			t.Fatal(err, derr)
		}
		if (m.Actor != nil) != (e.Kind == history.Interrupted) {
			t.Errorf("%s entry: actor %v", e.Kind, m.Actor)
		}
	}
}

// broken is a provider that panics a few times.
type broken struct {
	llm.Provider
	left int
}

func (p *broken) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	if p.left > 0 {
		p.left--
		panic("provider broke")
	}
	return p.Provider.Stream(ctx, r)
}

func TestAPanicEndsOneAttempt(t *testing.T) {
	for panics, ok := range map[int]bool{3: true, 4: false} {
		t.Run(fmt.Sprint(panics), func(t *testing.T) {
			b := newBench(t, `{"steps": [{"text": "whole again"}]}`)
			model := b.Options.Model
			b.Options.Model = func(a agent.Agent, asked llm.Ref) (Model, error) {
				m, err := model(a, asked)
				m.Provider = &broken{m.Provider, panics}
				return m, err
			}
			b.start()
			outcome, err := b.exec(b.zero.ID, "go")
			if ok && (err != nil || outcome.Text != "whole again") {
				t.Errorf("%+v %v", outcome, err)
			}
			if !ok && !fault.Is(err, fault.Failed) {
				t.Errorf("%+v %v", outcome, err)
			}
			for _, line := range b.history(b.zero.ID) {
				if strings.Contains(line, ".go:") {
					t.Errorf("a stack in the history: %s", line)
				}
			}
		})
	}
}

// ear is a provider that remembers what it was asked, as bytes in the order in which vendors
// cache them: tools, then messages.
type ear struct {
	llm.Provider
	mu    sync.Mutex
	heard []string
}

func (e *ear) Stream(ctx context.Context, q llm.Request) iter.Seq[llm.Event] {
	b, err := json.Marshal(struct {
		Tools    []llm.Tool
		Messages []llm.Message
	}{q.Tools, q.Messages})
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	e.heard = append(e.heard, string(b))
	e.mu.Unlock()
	return e.Provider.Stream(ctx, q)
}

func prefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Between turns requests only grow, and nearly all of its parent's last request is the
// beginning of a child's: what vendors have cached is used.
func TestRequestsShareTheirBeginnings(t *testing.T) {
	b := newBench(t, `
{"when": "fork now", "steps": [{"call": "fork", "args": {"prompt": "be the kid", "name": "kid"}}, {"call": "fork", "args": {"prompt": "be the other", "name": "other"}}]}
{"when": "be the", "repeat": true, "steps": [{"text": "I am"}]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
{"when": "None of them", "steps": [{"text": "fine"}]}
{"when": "turn", "repeat": true, "steps": [{"text": "an answer of some length, as answers are"}]}
`)
	open := b.Options.Model
	heard := &ear{}
	b.Options.Model = func(a agent.Agent, asked llm.Ref) (Model, error) {
		m, err := open(a, asked)
		heard.mu.Lock() // each agent opens its own; all are the same model
		defer heard.mu.Unlock()
		if heard.Provider == nil {
			heard.Provider = m.Provider
		}
		m.Provider = heard
		return m, err
	}
	b.start()
	for i := range 20 {
		testkit.Must(b.exec(b.zero.ID, fmt.Sprintf("turn %d", i)))(t)
	}
	testkit.Must(b.exec(b.zero.ID, "fork now"))(t)
	const end = len(`]}`)
	for i := 1; i <= 20; i++ {
		if last := heard.heard[i-1]; prefix(last, heard.heard[i]) < len(last)-end {
			t.Errorf("request %d does not begin with the one before", i+1)
		}
	}
	parent := heard.heard[20]
	for _, name := range []string{"be the kid", "be the other"} {
		for _, q := range heard.heard[21:] {
			if strings.HasSuffix(q, name+`"}]}]}`) || strings.Contains(q[len(q)-200:], name) {
				if n := prefix(parent, q); n*100 < len(parent)*95 {
					t.Errorf("%s: %d of %d bytes are its beginning", name, n, len(parent))
				}
			}
		}
	}
	if len(heard.heard) < 24 {
		t.Errorf("%d requests", len(heard.heard))
	}
}

// Whoever stops a turn does not wait for servers that are asked for their tools.
func TestAStoppedTurnDoesNotWaitForItsTools(t *testing.T) {
	b := newBench(t, `{"when": "go", "steps": [{"text": "done"}]}`)
	asked, answer := make(chan struct{}), make(chan struct{})
	b.Options.Tools = func(agent.Agent) (tool.Box, error) {
		select {
		case <-asked:
		default:
			close(asked)
		}
		<-answer
		return nil, nil
	}
	b.start()
	defer close(answer)
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-asked; stop() }()
	turn, err := b.kernel.Exec(ctx, b.zero.ID, Prompt{Text: "go"})
	if err == nil {
		_, err = turn.Wait()
	}
	if !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
}

// shy is a tool that takes itself away, as that of skills does where there are none.
type shy struct{}

func (shy) Spec() tool.Spec {
	return tool.Spec{Name: "shy", Access: tool.Reads, Args: shape.Object()}
}

func (shy) Run(context.Context, tool.Call) (tool.Answer, error) { return tool.Answer{}, nil }

func (s shy) Narrow(b tool.Box) tool.Box {
	return slices.DeleteFunc(slices.Clone(b), func(t tool.Tool) bool { return t == tool.Tool(s) })
}

// What stands before the context is made once in a turn, for the tools that are left.
func TestTheFirstWordsAreMadeOnce(t *testing.T) {
	b := newBench(t, `{"when": "go", "steps": [{"text": "done"}]}`)
	b.Options.Tools = func(agent.Agent) (tool.Box, error) { return tool.Box{shy{}}, nil }
	made := 0
	b.Options.System = func(_ agent.Agent, box tool.Box) ([]llm.Message, string, error) {
		if made++; slices.Contains(box.Names(), "shy") {
			t.Error("they are made for a tool that is taken away")
		}
		return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
	}
	b.start()
	if _, err := b.exec(b.zero.ID, "go"); err != nil || made != 1 {
		t.Errorf("made %d times, %v", made, err)
	}
}

package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// world is a workspace with a kernel that runs nothing: it holds no leases, and
// passes the verbs on.
type world struct {
	*store.Store
	t      testing.TB
	zero   id.Agent
	doing  map[id.Agent]state.State
	fail   error         // what the next Fork, Kill, Send or Exit fails with
	asleep chan struct{} // takes one value whenever somebody begins to wait

	mu     sync.Mutex
	news   chan struct{} // closed at the next letter
	trees  []string      // worktrees that stand
	undone []string      // worktrees that were taken away, in order
	waits  []time.Duration
	calls  int
	asked  int

	handed []id.Agent // what HandOver answers
	before id.Message
	work   process.Trees
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := testkit.Must(sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: "/project"}))(t)
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	zero := testkit.Must(s.Zero(context.Background()))(t)
	return &world{Store: s, t: t, zero: zero.ID, doing: map[id.Agent]state.State{},
		asleep: make(chan struct{}, 100), news: make(chan struct{})}
}

func (w *world) failing() error {
	err := w.fail
	w.fail = nil
	return err
}

func (w *world) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	if err := w.failing(); err != nil {
		return nil, err
	}
	f.Claim = agent.Passing()
	return w.Store.Fork(ctx, f)
}

func (w *world) Kill(ctx context.Context, k registry.Kill) (registry.Killed, error) {
	if err := w.failing(); err != nil {
		return registry.Killed{}, err
	}
	return w.Store.Kill(ctx, k)
}

func (w *world) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	if err := w.failing(); err != nil {
		return mail.Letter{}, err
	}
	s.Claim = agent.Passing()
	l, err := w.Store.Send(ctx, s)
	w.mu.Lock()
	close(w.news)
	w.news = make(chan struct{})
	w.mu.Unlock()
	return l, err
}

func (w *world) Read(ctx context.Context, r registry.Read) (mail.Letter, bool, error) {
	r.Claim = agent.Passing()
	return w.Store.Read(ctx, r)
}

// seat is the kernel as one agent sees it.
type seat struct {
	*world
	self id.Agent
}

func (w seat) Await(ctx context.Context, wait process.Wait) (process.Waited, error) {
	late := time.NewTimer(wait.Timeout)
	defer late.Stop()
	w.mu.Lock()
	w.waits = append(w.waits, wait.Timeout)
	w.mu.Unlock()
	for {
		w.mu.Lock()
		news := w.news
		w.mu.Unlock()
		var working []id.Agent
		for a, s := range w.doing {
			if process.From(mail.Letter{From: a}, wait.From) && s.Busy() && w.row(a).Status == agent.Running {
				working = append(working, a)
			}
		}
		letters, err := w.Letters(ctx, w.self, mail.Filter{Unread: true})
		if err != nil {
			return process.Waited{}, err
		}
		came := slices.ContainsFunc(letters, func(l mail.Letter) bool { return process.From(l, wait.From) })
		if came && !wait.All || len(working) == 0 {
			return process.Waited{Came: came, Working: working}, nil
		}
		w.asleep <- struct{}{}
		select {
		case <-news:
		case <-late.C:
			return process.Waited{Came: came, Late: true, Working: working}, nil
		case <-ctx.Done():
			return process.Waited{}, ctx.Err()
		}
	}
}

func (w *world) HandOver(context.Context) ([]id.Agent, error) { return w.handed, nil }

func (w *world) Before() id.Message { return w.before }

func (w *world) Facts(context.Context, agent.Agent) string { return "" }

func (w *world) Defined() bool { return false }

func (w *world) Role(name string) (process.Role, error) {
	return process.Role{}, fault.New(fault.NotFound, "no agent %.60q is defined", name)
}

func (w *world) Drivers() []string { return nil }

func (w *world) Driver(name string) (llm.Ref, error) {
	return llm.Ref{}, fault.New(fault.NotFound, "no driver %.60q is known", name)
}

func (w *world) Worktrees() process.Trees {
	if w.work == nil {
		return nil
	}
	return w.work
}

func (w *world) Recent(ctx context.Context, a id.Agent, most int) (out []history.Entry, err error) {
	for e, err := range w.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Newest: most, Any: true}) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (w *world) Exit(ctx context.Context, a id.Agent, result string) error {
	if err := w.failing(); err != nil {
		return err
	}
	row, err := w.Agent(ctx, a)
	if err != nil {
		return err
	}
	if result != "" {
		if _, err := w.Send(ctx, registry.Send{From: a, To: row.Parent, Body: result}); err != nil {
			return err
		}
	}
	_, err = w.Store.Kill(ctx, registry.Kill{Agent: a, By: a, Reason: "exited"})
	return err
}

func (w *world) Worktree(_ context.Context, _ agent.Agent, child id.Agent, name string) (process.Place, func(), error) {
	if name == "unborn" {
		return process.Place{}, nil, fault.New(fault.Failed, "%q is not a git repository", "/project")
	}
	dir, err := os.MkdirTemp(w.t.TempDir(), name)
	if err != nil {
		return process.Place{}, nil, err
	}
	w.trees = append(w.trees, dir)
	return process.Place{Dir: dir, Branch: "ramet/" + name, Base: "0123456789abcdef", Brought: 2, Missing: []string{"socket"}}, func() {
		w.undone = append(w.undone, dir)
		w.trees = slices.DeleteFunc(w.trees, func(d string) bool { return d == dir })
	}, nil
}

func (w *world) Sources() state.Sources {
	return state.Sources{Store: w.Store, Gone: func(string) bool { return false }, Here: func() map[id.Agent]state.State { return w.doing }}
}

// call makes one call as the loop does: checked, then run.
func (w *world) call(self id.Agent, name, args string) (tool.Answer, error) {
	w.calls++
	return w.callAs(context.Background(), self, fmt.Sprintf("c%d", w.calls), name, args)
}

func (w *world) callAs(ctx context.Context, self id.Agent, callID, name, args string) (tool.Answer, error) {
	found, refused, ok := process.New(seat{w, self}, w.Store, self).Find(llm.NewCall(callID, name, args))
	if !ok {
		return refused, nil
	}
	return found.Run(ctx, tool.Call{Agent: self, ID: callID, Name: name, Args: found.Args, Grant: tool.Free, Note: found.Note, Output: func([]byte) {}})
}

// does makes a call that must work and returns its answer.
func (w *world) does(self id.Agent, name, args string) string {
	w.t.Helper()
	a, err := w.call(self, name, args)
	if err != nil || a.IsError {
		w.t.Fatalf("%s %s: %v, %s", name, args, err, a.Text)
	}
	return a.Text
}

// refused makes a call that must be answered with an error that says so.
func (w *world) refused(self id.Agent, name, args string, says ...string) {
	w.t.Helper()
	a, err := w.call(self, name, args)
	if err != nil || !a.IsError || a.Recorded || a.Ends {
		w.t.Errorf("%s %.80s: %v, %+v", name, args, err, a)
	}
	for _, s := range says {
		if !strings.Contains(a.Text, s) {
			w.t.Errorf("%s %.80s: %q does not say %q", name, args, a.Text, s)
		}
	}
}

// child makes one outside the tools.
func (w *world) child(parent id.Agent, name string) id.Agent {
	w.t.Helper()
	c := id.NewAgent()
	testkit.Must(w.Store.Fork(context.Background(), registry.Fork{Parent: parent,
		Children: []registry.Child{{ID: c, Name: name}}}))(w.t)
	return c
}

func (w *world) kills(a id.Agent) {
	w.t.Helper()
	testkit.Must(w.Store.Kill(context.Background(), registry.Kill{Agent: a, Reason: "enough"}))(w.t)
}

func (w *world) append(a id.Agent, drafts ...history.Draft) {
	w.t.Helper()
	testkit.Must(w.Append(context.Background(), a, agent.Passing(), drafts...))(w.t)
}

func (w *world) row(a id.Agent) agent.Agent {
	w.t.Helper()
	row := testkit.Must(w.Agent(context.Background(), a))(w.t)
	return row
}

// own is the kinds of an agent's own entries.
func (w *world) own(a id.Agent) string {
	w.t.Helper()
	var kinds []string
	for e, err := range w.QueryRange(context.Background(), history.Range{Agent: a}, history.Selection{}) {
		testkit.OK(w.t, err)
		kinds = append(kinds, string(e.Kind))
	}
	return strings.Join(kinds, " ")
}

// context is what the model of an agent sees, part by part.
func (w *world) context(a id.Agent) []history.Part {
	w.t.Helper()
	c := testkit.Must(history.Replay(context.Background(), w.Store, a))(w.t)
	var all []history.Part
	open := map[string]bool{}
	for _, e := range c.Messages {
		parts := testkit.Must(e.Parts())(w.t)
		testkit.OK(w.t, history.Fill(parts, func(h chain.Hash) ([]byte, error) { return w.Blob(context.Background(), h) }))
		// What every provider demands: each call has one result, before anything
		// else is said.
		if e.Kind != history.ToolResult && len(open) > 0 {
			w.t.Errorf("%s: a %s message comes while calls are open: %v", a, e.Kind, open)
		}
		for _, p := range parts {
			switch p.Type {
			case history.ToolCall:
				open[p.CallID] = true
			case history.Result:
				if !open[p.CallID] {
					w.t.Errorf("%s: a result of %s, which is not open", a, p.CallID)
				}
				delete(open, p.CallID)
			}
		}
		all = append(all, parts...)
	}
	if len(open) > 0 {
		w.t.Errorf("%s: open calls %v", a, open)
	}
	w.unchanged(a, c, all)
	return all
}

// unchanged says that a request is made of the context as it stands: nothing of
// it had to be mended or left out.
func (w *world) unchanged(a id.Agent, c *history.Context, parts []history.Part) {
	w.t.Helper()
	talk := testkit.Must(loop.NewConversation(context.Background(), c, w.Blob))(w.t)
	var sent, kept []string
	for _, m := range talk.Messages() {
		for _, p := range m.Parts {
			sent = append(sent, fmt.Sprint(p.Type, p.CallID, p.Text))
		}
	}
	for _, p := range parts {
		kept = append(kept, fmt.Sprint(p.Type, p.CallID, p.Text))
	}
	// Results come in the order of the calls there, and as they were written here.
	slices.Sort(sent)
	slices.Sort(kept)
	if !slices.Equal(sent, kept) {
		w.t.Errorf("%s: sent is\n%.2000q\nbut kept is\n%.2000q", a, sent, kept)
	}
}

// drawn is a context in short: who says or returns what, up to the first words.
func drawn(parts []history.Part) string {
	var lines []string
	for _, p := range parts {
		first := strings.Fields(p.Text + " - - -")[:3]
		switch p.Type {
		case history.ToolCall:
			lines = append(lines, "call "+p.CallID)
		case history.Result:
			lines = append(lines, p.CallID+"="+strings.Join(first, " "))
		default:
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "; ")
}

// worldRecall is a child with a history of its own and one that it inherited.
func worldRecall(t *testing.T) (*storetest.TreeLog, func(args string) tool.Answer) {
	t.Helper()
	log := storetest.DrawTree(t, `root ─ m1 ─ clear ─ m3 ─ m4 ─ m5
	                         └─ m6 (child)`)
	put := func(m id.Message, k history.Kind, parts ...history.Part) {
		log.Append("child", m, history.Draft{Kind: k, Parts: parts})
	}
	put(7, history.Assistant, history.Part{Type: history.ToolCall, Name: "bash", CallID: "a", Args: json.RawMessage(`{"command":"make"}`)})
	put(8, history.ToolResult, history.Part{Type: history.Result, Name: "bash", CallID: "a", Text: strings.Repeat("ä noise\n", 4000) + "The needle is HERE.\n" + strings.Repeat("more\n", 100)})
	put(9, history.User, history.Part{Type: history.Text, Text: "Find the needle."})
	put(10, history.ToolResult, history.Part{Type: history.Result, Name: process.RecallName, CallID: "b", Text: "needle needle"})
	box := process.NewRecall(log, "child", 2048)
	return log, func(args string) tool.Answer {
		t.Helper()
		a := testkit.Must(box.Run(t.Context(), tool.Call{Args: json.RawMessage(args)}))(t)
		if len(a.Text) > 2048 {
			t.Errorf("%s: %d bytes", args, len(a.Text))
		}
		return a
	}
}

func TestARangeIsReadToTheLastByte(t *testing.T) {
	_, run := worldRecall(t)
	if got := run(`{"range": "3-7"}`).Text; got != "entry 3, user:\nm3\n\nentry 4, user:\nm4\n\nentry 6, user:\nm6\n\nentry 7, assistant:\n[bash {\"command\":\"make\"}]" {
		t.Error(got)
	}
	var all strings.Builder
	for offset := 0; ; {
		got := run(fmt.Sprintf(`{"range": "8", "offset": %d}`, offset)).Text
		body := strings.TrimPrefix(got, "entry 8, tool result:\n")
		i := strings.LastIndex(body, "\n[there is more: range 8, offset ")
		if i < 0 {
			all.WriteString(body)
			break
		}
		all.WriteString(body[:i])
		testkit.Must(fmt.Sscanf(body[i:], "\n[there is more: range 8, offset %d", &offset))(t)
	}
	if want := strings.TrimRight(strings.Repeat("ä noise\n", 4000)+"The needle is HERE.\n"+strings.Repeat("more\n", 100), "\n"); all.String() != want {
		t.Errorf("%d bytes of %d came back", all.Len(), len(want))
	}
	if got := run(`{"range": "7-9"}`).Text; !strings.HasSuffix(got, "[there is more: range 8- continues]") {
		t.Error(got)
	}
}

func TestAQueryFindsWhatIsLeftOut(t *testing.T) {
	_, run := worldRecall(t)
	got := run(`{"query": "NEEDLE here"}`).Text
	if !strings.HasPrefix(got, "entry 8, tool result: ") || !strings.Contains(got, "The needle is HERE.") || strings.Contains(got, "entry 10") {
		t.Error(got)
	}
	if got := run(`{"query": "needle"}`).Text; strings.Index(got, "entry 9") > strings.Index(got, "entry 8") {
		t.Errorf("the newest comes first: %s", got)
	}
	if got := run(`{"query": "needle", "range": "9-"}`).Text; strings.Contains(got, "entry 8") {
		t.Error(got)
	}
	if got := run(`{"query": "unheard of"}`).Text; !strings.HasPrefix(got, "No entry contains all of these words (") {
		t.Error(got)
	}
}

func TestWhatCannotBeRecalled(t *testing.T) {
	_, run := worldRecall(t)
	for _, args := range []string{`{"range": "1"}`, `{"range": "5"}`, `{"range": "99"}`, `{"range": "x"}`, `{"range": "9-3"}`, `{"range": "0"}`, `{}`} {
		if a := run(args); !a.IsError || strings.Contains(a.Text, "m5") {
			t.Errorf("%s: %+v", args, a)
		}
	}
}

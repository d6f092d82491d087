package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// child forks one by hand.
func (b *bench) child(name string, entries ...history.Draft) agent.Agent {
	b.t.Helper()
	born := testkit.Must(b.store.Fork(b.t.Context(), registry.Fork{Parent: b.zero.ID, Claim: agent.Passing(),
		Children: []registry.Child{{ID: id.NewAgent(), Name: name, Entries: entries}}}))(b.t)
	return born[0]
}

func said(kind history.Kind, text string) history.Draft {
	return history.Draft{Kind: kind, Parts: []history.Part{{Type: history.Text, Text: text}}}
}

// interrupt leaves an agent as a kernel does that is killed in the middle of a
// turn: with open calls, and with words that were shown.
func (b *bench) interrupt(a agent.Agent, owner string, shown string) agent.Lease {
	b.t.Helper()
	ctx := b.t.Context()
	held := testkit.Must(b.store.Acquire(ctx, a.ID, owner, LeaseTTL))(b.t)
	lease := held.Lease
	claim := agent.Held(owner, lease.Epoch)
	calls := history.Draft{Kind: history.Assistant, Parts: []history.Part{
		{Type: history.ToolCall, CallID: "c1", Name: "echo", Args: json.RawMessage(`{}`)},
		{Type: history.ToolCall, CallID: "c2", Name: "echo", Args: json.RawMessage(`{}`)}}}
	result := history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "c1", Name: "echo", Text: "one"}}}
	entries := testkit.Must(b.store.Append(ctx, a.ID, claim, said(history.User, "work"), calls, result))(b.t)
	if shown != "" {
		reply := registry.Reply{Agent: a.ID, Claim: claim, After: entries[2].ID, Text: shown}
		testkit.OK(b.t, b.store.KeepReplies(ctx, []registry.Reply{reply}))
	}
	return lease
}

func TestWhatADeadKernelLeftIsClosed(t *testing.T) {
	b := newBench(t, `{"steps": [{"text": "I go on"}]}`)
	left, other := b.child("left"), b.child("other")
	b.interrupt(left, "there:9:dead", "as I was say")
	b.interrupt(other, "there:9:alive", "")
	b.Options.Gone = func(owner string) bool { return owner == "there:9:dead" }
	b.start()
	want := []string{"fork", "user work", "assistant [echo {}]\n[echo {}]", "tool_result one", "interrupted as I was say",
		"tool_result interrupted…"}
	b.expect(left.ID, want...)
	b.expect(other.ID, want[:4]...) // somebody may still be at work there
	if got := b.letters(b.zero.ID); len(got) != 1 || !strings.Contains(got[0], "interrupted") {
		t.Errorf("letters %q", got)
	}
	// It is the kernel that says so, and who waits for the agent hears of it.
	box, err := b.store.Letters(t.Context(), b.zero.ID, mail.Filter{Unread: true, From: &left.ID})
	if err != nil || len(box) != 1 || box[0].From != id.Kernel || box[0].About != left.ID {
		t.Errorf("%+v %v", box, err)
	}
	testkit.OK(t, b.kernel.Recover(t.Context()))
	b.expect(left.ID, want...) // once
	if outcome, err := b.exec(left.ID, "go on"); err != nil || outcome.Text != "I go on" {
		t.Errorf("%+v %v", outcome, err)
	}
	_, err = b.exec(other.ID, "go on")
	if !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), "there:9:alive") {
		t.Errorf("%v", err)
	}
	b.expect(other.ID, want[:4]...)
}

func TestAStoppedHostWritesNoMore(t *testing.T) {
	started := make(chan struct{})
	block := echo{name: "block", run: func(ctx context.Context, _ string) (tool.Answer, error) {
		close(started)
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}}
	b := newBench(t, `{"steps": [{"call": "block", "args": {}}]}`, block)
	b.start()
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go"}))(t)
	<-started
	a := testkit.Must(b.store.Agent(t.Context(), b.zero.ID))(t)
	// Another host believes that we are dead.
	testkit.Must(b.store.Seize(t.Context(), a.ID, a.Lease, "there:1:b", time.Minute))(t)
	before := b.history(a.ID)
	b.kernel.look(t.Context())
	if _, err := turn.Wait(); !fault.Is(err, fault.Fenced) {
		t.Errorf("the turn ended with %v", err)
	}
	b.expect(a.ID, before...)
	now, err := b.store.Agent(t.Context(), a.ID)
	if err != nil || now.Lease.Owner != "there:1:b" {
		t.Errorf("the new holder lost the lease: %+v %v", now.Lease, err)
	}
}

func TestMailWakesAWaitingAgent(t *testing.T) {
	b := newBench(t, `
{"when": "listen", "steps": [{"call": "wait", "args": {"agents": ["user"]}}]}
{"when": "hello", "steps": [{"text": "I heard"}]}
`)
	b.start()
	seen, enough := b.kernel.Events.Subscribe(t.Context())
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "listen"}))(t)
	for e := range seen {
		if e.Tool == "wait" {
			break
		}
	}
	enough()
	testkit.Must(b.kernel.Send(t.Context(), registry.Send{To: b.zero.ID, Body: "hello there"}))(t)
	if outcome, err := turn.Wait(); err != nil || outcome.Text != "I heard" {
		t.Errorf("%+v %v", outcome, err)
	}
	h := strings.Join(b.history(b.zero.ID), "\n")
	if !strings.Contains(h, "Mail 1 from the user") || !strings.Contains(h, "hello there") {
		t.Errorf("history %s", h)
	}
}

func TestAForkWaitsForTools(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	block := echo{name: "block", run: func(ctx context.Context, _ string) (tool.Answer, error) {
		close(started)
		<-finish
		return tool.Answer{Text: "finished"}, nil
	}}
	b := newBench(t, `
{"when": "go", "steps": [{"call": "block", "args": {}}]}
{"when": "finished", "steps": [{"wait": "answer"}, {"text": "done"}]}
`, block)
	b.start()
	seen, enough := b.kernel.Events.Subscribe(t.Context())
	defer enough()
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go"}))(t)
	<-started
	cancelled, cancel := context.WithCancel(t.Context())
	fork := func(ctx context.Context, name string) ([]agent.Agent, error) {
		return b.kernel.Fork(ctx, registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, "")
	}
	impatient, patient := make(chan error, 1), make(chan error, 1)
	go func() { _, err := fork(cancelled, "impatient"); impatient <- err }()
	go func() { _, err := fork(t.Context(), "patient"); patient <- err }()
	waiting := 0
	for e := range seen {
		if strings.Contains(e.Text, "fork waits") {
			if waiting++; waiting == 2 {
				break
			}
		}
	}
	cancel()
	if err := <-impatient; !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
	close(finish)
	if err := <-patient; err != nil {
		t.Error(err)
	}
	child := b.named("patient")
	// The model is still at work, and the child has the result of the call.
	c, err := replay(t.Context(), b.store, child.ID)
	if err != nil || len(c.Messages) != 3 || c.Messages[2].Kind != history.ToolResult {
		t.Errorf("%d messages, %v", len(c.Messages), err)
	}
	b.gates.Open("answer")
	if outcome, err := turn.Wait(); err != nil || outcome.Text != "done" {
		t.Errorf("%+v %v", outcome, err)
	}
	if _, ok, _ := b.store.Named(t.Context(), "impatient"); ok {
		t.Error("a cancelled fork left a child")
	}
}

func TestABudgetBindsTheSubtree(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "spend it", "name": "kid"}}, {"usage": {"input": 40, "output": 10}}]}
{"when": "spend it", "steps": [{"text": "a"}, {"call": "ps", "args": {}}, {"usage": {"input": 40, "output": 999000}}]}
{"when": "works on", "steps": [{"wait": "kid"}, {"text": "parent is done"}, {"usage": {"input": 1, "output": 1}}]}
`)
	b.start()
	limit := int64(1_000_000)
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "divide", Budget: &history.Budget{Tokens: &limit}}))(t)
	testkit.OK(t, turn.Tasks(t.Context()))
	b.gates.Open("kid")
	turn.Wait()
	testkit.OK(t, turn.Tasks(t.Context()))
	got := b.letters(b.zero.ID)
	if len(got) != 1 || !strings.Contains(got[0], "BUDGET_EXCEEDED") {
		t.Errorf("letters %q", got)
	}
	if _, err := b.exec(b.zero.ID, "more"); !fault.Is(err, fault.BudgetExceeded) {
		t.Errorf("the parent goes on: %v", err)
	}
}

func TestForksShareTheirParentsMemory(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "yes"}]}`)
	for range 20 {
		testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), said(history.User, "q"), said(history.Assistant, "a")))(t)
	}
	var children []agent.Agent
	for range 5 {
		children = append(children, b.child("", said(history.User, "mine")))
		testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), said(history.Note, "later"), said(history.User, "q")))(t)
	}
	b.start()
	for _, order := range [][]int{{4, 0, 2}, {1, 3}} {
		for _, i := range order {
			testkit.Must(b.exec(children[i].ID, "hello"))(t)
			b.sameAsReplay(children[i].ID)
		}
	}
	// What is redacted in the parent leaves the memory of the children.
	entries := testkit.Must(since(t.Context(), b.store, b.zero.ID, 0))(t)
	testkit.OK(t, b.store.Redact(t.Context(), b.zero.ID, agent.Passing(), entries[1].ID))
	b.kernel.Forget()
	testkit.Must(b.exec(children[0].ID, "again"))(t)
	b.sameAsReplay(children[0].ID)
}

// A parent that goes on alone is told whom nobody goes on with.
func TestAParentIsToldWhoWasInterruptedToo(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "I see"}]}`)
	task := said(history.User, "your part")
	task.Meta.Then = history.ThenMail
	left, own := b.child("left", task), b.child("own") // a person's: it works for nobody
	b.interrupt(left, "there:9:dead", "")
	b.interrupt(own, "there:9:dead", "")
	b.interrupt(b.zero, "there:9:dead", "")
	b.Options.Gone = func(owner string) bool { return owner == "there:9:dead" }
	b.start()
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Again: true}))(t)
	testkit.Must(turn.Wait())(t)
	got := strings.Join(b.history(b.zero.ID), "\n")
	if !strings.Contains(got, "notice Interrupted too, and idle now: left ("+left.ID.Short()+"). Mail from you sets one to work again.") {
		t.Error(got)
	}
	// With everybody else it is not.
	again := b.child("again", task)
	b.interrupt(again, "there:9:dead", "")
	testkit.OK(t, b.kernel.Recover(t.Context()))
	var turns []*Turn
	for _, a := range []id.Agent{left.ID, again.ID, b.zero.ID} {
		turn := testkit.Must(b.kernel.Exec(t.Context(), a, Prompt{Again: true}))(t)
		turns = append(turns, turn)
	}
	for _, turn := range turns {
		turn.Wait()
	}
	if got := strings.Join(b.history(b.zero.ID), "\n"); strings.Count(got, "Interrupted too") != 1 {
		t.Error(got)
	}
}

// What a turn may still spend is told less what those below it spent.
func TestABudgetCoversEarlierChildren(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "ok"}, {"usage": {"input": 40, "output": 10}}]}`)
	b.Options.Facts = func(context.Context, agent.Agent) Place { return func(Model, tool.Box) string { return "Here." } }
	b.start()
	testkit.Must(b.exec(b.child("left").ID, "work"))(t)
	spent, err := b.store.Spent(t.Context(), b.zero.ID)
	if err != nil || spent.Tokens == 0 {
		t.Fatalf("%+v %v: the test shows nothing", spent, err)
	}
	most := spent.Tokens + 100000
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go on", Budget: &history.Budget{Tokens: &most}}))(t)
	testkit.Must(turn.Wait())(t)
	for _, m := range b.remembered(b.zero.ID).Messages() {
		for _, p := range m.Parts {
			if strings.Contains(p.Text, "budget left: 100000 tokens") {
				return
			}
		}
	}
	t.Error("it is told something else")
}

// After a crash only the call that ran may have happened: what stood behind it, and what a person was
// still asked about, had not begun.
func TestWhatHadNotBegunIsSaidSo(t *testing.T) {
	call := func(id string) history.Part {
		return history.Part{Type: history.ToolCall, CallID: id, Name: "bash", Args: json.RawMessage(`{}`)}
	}
	about := func(command, id string) history.Draft {
		return history.Draft{Kind: history.Command, Meta: history.Meta{Command: command, CallID: id}}
	}
	for _, c := range []struct {
		name   string
		behind []history.Draft
		want   []string
	}{
		{"it ran", nil, []string{"a interrupted: outcome unknown", "b not begun: it did not happen"}},
		{"it was asked about", []history.Draft{about(history.AskCommand, "a")},
			[]string{"a not begun: it did not happen; it was waiting for the user's permission", "b not begun: it did not happen"}},
		{"it was permitted", []history.Draft{about(history.AskCommand, "a"), about(history.PermitCommand, "a")},
			[]string{"a interrupted: outcome unknown", "b not begun: it did not happen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, `{"repeat": true, "steps": [{"text": "on"}]}`)
			ask := testkit.Must(history.Say(history.User, "do both"))(t)
			left := append([]history.Draft{ask, {Kind: history.Assistant, Parts: []history.Part{call("a"), call("b")}}}, c.behind...)
			testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), left...))(t)
			b.start()
			turn, err := b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "go on"})
			if err == nil {
				_, err = turn.Wait()
			}
			testkit.OK(t, err)
			var got []string
			for e, err := range b.store.QueryRange(t.Context(), history.Range{Agent: b.zero.ID}, history.Selection{}) {
				testkit.OK(t, err)
				parts := testkit.Must(e.Parts())(t)
				for _, p := range parts {
					if p.Type == history.Result {
						got = append(got, p.CallID+" "+p.Text)
					}
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// What an agent should know of the place is written once, in front of the user's words, and
// again only when it is another; the words stay the user's.
func TestFactsAreWrittenOnce(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "ok"}]}`)
	here := "Folder /here."
	b.Options.Facts = func(context.Context, agent.Agent) Place { return func(Model, tool.Box) string { return here } }
	b.start()
	for _, said := range []string{"one", "two"} {
		testkit.Must(b.exec(b.zero.ID, said))(t)
	}
	here = "Folder /there."
	testkit.Must(b.exec(b.zero.ID, "three"))(t)
	b.expect(b.zero.ID, "fork", "user one", "assistant ok", "usage", "user two", "assistant ok", "usage", "user three", "assistant ok", "usage")
	var told []string
	for _, m := range b.remembered(b.zero.ID).Messages() {
		if len(m.Parts) > 1 {
			told = append(told, m.Parts[0].Text+m.Words())
		}
	}
	if got := strings.Join(told, "|"); got != "[ramet] You are 0; model script/test. Folder /here.\n\none|[ramet] You are 0; model script/test. Folder /there.\n\nthree" {
		t.Errorf("%q", got)
	}
	b.sameAsReplay(b.zero.ID)
	if history.Plain([]history.Part{{Type: history.Facts, Text: here}}) != "" {
		t.Error("facts are shown as what the user said")
	}
}

// said lists the kinds and texts of what an agent's model sees.
func (b *bench) said() string {
	var out []string
	for e, err := range b.store.QueryRange(b.t.Context(), history.Range{Agent: b.zero.ID}, history.Selection{}) {
		testkit.OK(b.t, err)
		if !e.Kind.Reaches() {
			continue
		}
		parts := testkit.Must(e.Parts())(b.t)
		text := history.Plain(parts)
		if e.Kind == history.ToolResult {
			text = "…"
		}
		out = append(out, fmt.Sprintf("%s %s", e.Kind, strings.ReplaceAll(text, "\n", " ")))
	}
	return strings.Join(out, " | ")
}

const working = `{"when": "go", "steps": [{"text": "one "}, {"wait": "gate"}, {"call": "ps"}]}
{"when": "by the way", "steps": [{"text": "I heard"}]}
{"repeat": true, "steps": [{"text": "done"}]}`

// begun starts a turn and waits until its model speaks.
func (b *bench) begun(text string) *Turn {
	b.t.Helper()
	seen, enough := b.kernel.Events.Subscribe(b.t.Context())
	defer enough()
	turn := testkit.Must(b.kernel.Exec(b.t.Context(), b.zero.ID, Prompt{Text: text, Ticket: "first"}))(b.t)
	for e := range seen {
		if e.Type == loop.TextDelta {
			break
		}
	}
	return turn
}

// What a person types while an agent works arrives behind the results of the running step.
func TestWhatIsSaidMeanwhileJoinsTheTurn(t *testing.T) {
	b := newBench(t, working)
	b.start()
	first := b.begun("go")
	person := history.By(t.Context(), history.Actor{Who: "me", Face: history.Terminal})
	second := testkit.Must(b.kernel.Exec(person, b.zero.ID, Prompt{Text: "by the way: keep it", Ticket: "second"}))(t)
	b.gates.Open("gate")
	for _, turn := range []*Turn{first, second} {
		if o, err := turn.Wait(); err != nil || o.Text != "I heard" || !o.Began {
			t.Errorf("%+v %v", o, err)
		}
	}
	if got := b.said(); got != "user go | assistant one  [ps {}] | tool_result … | user by the way: keep it | assistant I heard" {
		t.Error(got)
	}
}

// What a program says, and what was taken back, does not.
func TestWhatDoesNotJoin(t *testing.T) {
	b := newBench(t, working)
	b.start()
	first := b.begun("go")
	person := history.By(t.Context(), history.Actor{Who: "me", Face: history.Terminal})
	back := testkit.Must(b.kernel.Exec(person, b.zero.ID, Prompt{Text: "by the way: no", Ticket: "back"}))(t)
	program := testkit.Must(b.kernel.Exec(history.By(t.Context(), history.Actor{Who: "me", Face: history.CLI}), b.zero.ID, Prompt{Text: "and then"}))(t)
	if ended, err := b.kernel.Interrupt(t.Context(), Stop{Agent: "nobody", Also: []string{"back"}}); !ended || err != nil {
		t.Errorf("%t %v", ended, err)
	}
	b.gates.Open("gate")
	if o, err := back.Wait(); !fault.Is(err, fault.Cancelled) || o.Began {
		t.Errorf("%+v %v", o, err)
	}
	for _, turn := range []*Turn{first, program} {
		if o, err := turn.Wait(); err != nil || o.Text != "done" {
			t.Errorf("%+v %v", o, err)
		}
	}
	if got := b.said(); got != "user go | assistant one  [ps {}] | tool_result … | assistant done | user and then | assistant done" {
		t.Error(got)
	}
}

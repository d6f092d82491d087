package process_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel/process"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// asks appends what a model said that calls bash once and forks with the
// arguments, and the result of the bash call, as the loop does before forks.
func (w *world) asks(a id.Agent, forks ...string) []tool.Call {
	w.t.Helper()
	say := testkit.Must(history.Say(history.User, "hello"))(w.t)
	parts := []history.Part{}
	again := strings.Repeat("x", w.asked) // no id comes twice
	w.asked++
	var calls []tool.Call
	for i, args := range forks {
		callID := fmt.Sprintf("f%d", i+1) + again
		parts = append(parts, history.Part{Type: history.ToolCall, CallID: callID, Name: "fork", Args: []byte(args)})
		calls = append(calls, tool.Call{Agent: a, ID: callID, Name: "fork", Args: []byte(args), Output: func([]byte) {}})
	}
	parts = slices.Insert(parts, len(parts)/2, history.Part{Type: history.ToolCall, CallID: "b" + again, Name: "bash", Args: []byte(`{}`)})
	w.append(a, say, history.Draft{Kind: history.Assistant, Parts: parts},
		history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "b" + again, Name: "bash", Text: "ran"}}})
	return calls
}

func (w *world) forks(a id.Agent) tool.Batch {
	return process.New(seat{w, a}, w.Store, a)[0].(tool.Batch)
}

// newest are the children of the last fork of an agent, in order.
func (w *world) newest(a id.Agent) []id.Agent {
	w.t.Helper()
	var children []id.Agent
	for e, err := range w.QueryRange(context.Background(), history.Range{Agent: a}, history.Selection{}) {
		testkit.OK(w.t, err)
		if e.Kind != history.Fork {
			continue
		}
		m := testkit.Must(e.Decode())(w.t)
		children = m.Children
	}
	return children
}

func TestAForkReturnsTwice(t *testing.T) {
	w := newWorld(t)
	calls := w.asks(w.zero, `{"prompt":"count the files","name":"ada"}`)
	a, err := w.forks(w.zero).Run(t.Context(), calls[0])
	if err != nil || !a.Recorded || a.IsError || a.Ends {
		t.Fatalf("%+v, %v", a, err)
	}
	kid := w.row(w.newest(w.zero)[0])
	if kid.Name != "ada" || kid.Parent != w.zero || kid.Cwd != "/project" {
		t.Errorf("%+v", kid)
	}
	if got := w.own(w.zero); got != "fork user assistant tool_result fork tool_result" {
		t.Errorf("the parent's entries: %s", got)
	}
	if got := w.own(kid.ID); got != "fork tool_result user" {
		t.Errorf("the child's entries: %s", got)
	}
	mine, its := w.context(w.zero), w.context(kid.ID)
	if got, want := drawn(mine), fmt.Sprintf("hello; call b; call f1; b=ran - -; f1=%s (ada) is", kid.ID); got != want {
		t.Errorf("the parent sees %q, want %q", got, want)
	}
	if got, want := drawn(its), "hello; call b; call f1; b=ran - -; f1=You are the; count the files"; got != want {
		t.Errorf("the child sees %q, want %q", got, want)
	}
	result := mine[len(mine)-1]
	if result.Text != a.Text || result.Name != "fork" || result.IsError || result.Show != a.Show {
		t.Errorf("recorded %+v, answered %+v", result, a)
	}
	for _, says := range []string{"works on its task", "come by mail", "in your folder"} {
		if !strings.Contains(a.Text, says) {
			t.Errorf("%q does not say %q", a.Text, says)
		}
	}
	for _, says := range []string{"You are the child " + string(kid.ID) + " (ada)", "Your parent is 0 (" + string(w.zero) + ")",
		"Your last words are mailed to your parent", "You share your parent's folder", "its task is not yours"} {
		if got := its[len(its)-2].Text; !strings.Contains(got, says) {
			t.Errorf("%q does not say %q", got, says)
		}
	}
}

func TestForksOfOneMessageShareOneForkPoint(t *testing.T) {
	for n := 2; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			var args []string
			for i := range n {
				args = append(args, fmt.Sprintf(`{"prompt":"task %d"}`, i+1))
			}
			calls := w.asks(w.zero, args...)
			point := w.row(w.zero).Head
			testkit.OK(t, w.forks(w.zero).RunAll(t.Context(), calls))
			kids := w.newest(w.zero)
			if len(kids) != n {
				t.Fatalf("%d children", len(kids))
			}
			base := drawn(w.context(w.zero))
			base = base[:strings.Index(base, "; f1=")]
			want := base
			for i, kid := range kids {
				want += fmt.Sprintf("; f%d=%s is your", i+1, kid)
			}
			if got := drawn(w.context(w.zero)); got != want {
				t.Errorf("the parent sees %q, want %q", got, want)
			}
			for i, kid := range kids {
				if at := w.row(kid).ForkMessage; at != point {
					t.Errorf("child %d is a at %d, want %d", i, at, point)
				}
				want := base
				for j, other := range kids {
					if i == j {
						want += fmt.Sprintf("; f%d=You are the", j+1)
					} else {
						want += fmt.Sprintf("; f%d=%s is a", j+1, other)
					}
				}
				want += fmt.Sprintf("; task %d", i+1)
				if got := drawn(w.context(kid)); got != want {
					t.Errorf("child %d sees %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestAChildWithoutContextStartsBehindAClear(t *testing.T) {
	w := newWorld(t)
	calls := w.asks(w.zero, `{"prompt":"alone","context":"none"}`, `{"prompt":"together","context":"inherit"}`)
	testkit.OK(t, w.forks(w.zero).RunAll(t.Context(), calls))
	kids := w.newest(w.zero)
	if got := w.own(kids[0]); got != "fork clear notice user" {
		t.Error(got)
	}
	if got := drawn(w.context(kids[0])); !strings.HasPrefix(got, "You are the child "+string(kids[0])+". Your parent is 0 (") || !strings.HasSuffix(got, "; alone") ||
		!strings.Contains(got, "you know nothing of its conversation") || !strings.Contains(got, "Your last words are mailed to your parent") {
		t.Error(got)
	}
	if got, want := drawn(w.context(kids[1])), fmt.Sprintf("f1=%s is a; f2=You are the; together", kids[0]); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

func TestAChildForksInItsTurn(t *testing.T) {
	w := newWorld(t)
	testkit.OK(t, w.forks(w.zero).RunAll(t.Context(), w.asks(w.zero, `{"prompt":"go","name":"kid"}`)))
	kid := w.newest(w.zero)[0]
	testkit.OK(t, w.forks(kid).RunAll(t.Context(), w.asks(kid, `{"prompt":"deeper"}`, `{"prompt":"wider"}`)))
	grand := w.context(w.newest(kid)[1])
	if got := grand[len(grand)-2].Text; !strings.Contains(got, "Your parent is kid ("+string(kid)+")") {
		t.Error(got)
	}
}

func TestWorktreesComeWithTheChildOrGoWithoutIt(t *testing.T) {
	w := newWorld(t)
	two := []string{`{"prompt":"a","name":"left","worktree":true}`, `{"prompt":"b","name":"mid"}`, `{"prompt":"c","worktree":true}`}
	calls := w.asks(w.zero, two...)

	w.fail = fault.New(fault.StorageFull, "no space")
	if err := w.forks(w.zero).RunAll(t.Context(), calls); !fault.Is(err, fault.StorageFull) {
		t.Errorf("%v", err)
	}
	if len(w.trees) != 0 || len(w.undone) != 2 {
		t.Errorf("after a failure %d worktrees stand, %d were taken away", len(w.trees), len(w.undone))
	}
	// One that cannot be made takes the earlier ones with it.
	bad := append(slices.Clone(calls), tool.Call{ID: "f4", Args: []byte(`{"prompt":"d","name":"unborn","worktree":true}`)})
	if err := w.forks(w.zero).RunAll(t.Context(), bad); !fault.Is(err, fault.Failed) || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("%v", err)
	}
	if len(w.trees) != 0 || len(w.undone) != 4 {
		t.Errorf("after a refusal %d worktrees stand, %d were taken away", len(w.trees), len(w.undone))
	}
	testkit.OK(t, w.forks(w.zero).RunAll(t.Context(), calls))
	kids := w.newest(w.zero)
	if len(w.trees) != 2 || w.row(kids[0]).Cwd != w.trees[0] || w.row(kids[1]).Cwd != "/project" || w.row(kids[2]).Cwd != w.trees[1] {
		t.Errorf("%v", w.trees)
	}
	mine, its := w.context(w.zero), w.context(kids[0])
	for _, text := range []string{mine[len(mine)-3].Text, its[len(its)-4].Text} {
		if !strings.Contains(text, w.trees[0]) || strings.Contains(text, "shared") {
			t.Errorf("%q", text)
		}
	}
}

func TestARefusedForkLeavesNoTrace(t *testing.T) {
	w := newWorld(t)
	w.child(w.zero, "taken")
	good := `{"prompt":"fine","worktree":true}`
	many := make([]string, 65)
	for i := range many {
		many[i] = `{"prompt":"x"}`
	}
	for _, c := range []struct {
		what string
		args []string
		code fault.Code
		says string
	}{
		{"a taken name", []string{good, `{"prompt":"a","name":"taken"}`}, fault.Conflict, `"taken"`},
		{"one name twice", []string{`{"prompt":"a","name":"twin"}`, good, `{"prompt":"b","name":"twin"}`}, fault.Conflict, `"twin"`},
		{"no name", []string{good, `{"prompt":"a","name":"Not a name"}`}, fault.InvalidName, "not a name"},
		{"the user's name", []string{`{"prompt":"a","name":"you"}`}, fault.InvalidName, `"you"`},
		{"the parent's name", []string{`{"prompt":"a","name":"parent"}`}, fault.InvalidName, `"parent"`},
		{"blank", []string{good, `{"prompt":" \n\t"}`}, fault.InvalidText, "empty"},
		{"NUL", []string{`{"prompt":"a\u0000b"}`}, fault.InvalidText, "NUL"},
		{"too many", many, fault.Usage, "65 children, over the limit of 64"},
	} {
		t.Run(c.what, func(t *testing.T) {
			before := w.row(w.zero).Head
			var calls []tool.Call
			for i, args := range c.args {
				calls = append(calls, tool.Call{ID: fmt.Sprint(i), Args: []byte(args)})
			}
			if err := w.forks(w.zero).RunAll(t.Context(), calls); !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if len(w.trees)+len(w.undone) > 0 || w.row(w.zero).Head != before {
				t.Errorf("something was made: %v %v", w.trees, w.undone)
			}
			a, err := w.forks(w.zero).Run(t.Context(), calls[len(calls)-1])
			if len(calls) < 64 && c.what != "one name twice" && (err != nil || !a.IsError || a.Recorded || !strings.Contains(a.Text, c.says)) {
				t.Errorf("alone: %+v, %v", a, err)
			}
		})
	}
	w.refused(w.zero, "fork", `{"prompt":""}`, ": prompt:", "empty")
	w.refused(w.zero, "fork", `{}`, ": prompt:", "missing")
	w.refused(w.zero, "fork", `{"prompt":"a","context":"some"}`, "inherit, none")
	w.refused(w.zero, "fork", `{"prompt":"a","work_tree":true}`, "work_tree is not a field of fork (did you mean worktree?)")
}

// What a tool that writes its result itself did not understand stands beside it all the same.
func TestIgnoredArgumentsAreNoted(t *testing.T) {
	w := newWorld(t)
	kid := w.child(w.zero, "kid")
	w.does(kid, "send", `{"to":0,"text":"news"}`)
	for _, c := range [][2]string{{"fork", `{"prompt":"a","description":"x","name":"Fix-1"}`}, {"wait", `{"agents":"kid","description":"x"}`}} {
		says := w.does(w.zero, c[0], c[1])
		if note := "[note: description is not a field of " + c[0] + " and was ignored]"; !strings.Contains(says, note) {
			t.Errorf("%s: %q does not say %q", c[0], says, note)
		}
	}
	if _, ok, err := w.Named(t.Context(), "fix-1"); !ok || err != nil {
		t.Error("a name with a capital is not taken:", err)
	}
}

func TestTheMostChildrenOfOneMessage(t *testing.T) {
	w := newWorld(t)
	many := make([]string, 64)
	for i := range many {
		many[i] = `{"prompt":"x","name":""}`
	}
	testkit.OK(t, w.forks(w.zero).RunAll(t.Context(), w.asks(w.zero, many...)))
	kids := w.newest(w.zero)
	if len(kids) != 64 {
		t.Fatalf("%d children", len(kids))
	}
	if got := len(w.context(kids[63])); got != 1+65+65+1 {
		t.Errorf("the last child sees %d parts", got)
	}
	if err := w.forks(w.zero).RunAll(t.Context(), nil); err != nil || len(w.newest(w.zero)) != 64 {
		t.Errorf("no calls: %v", err)
	}
}

func TestWhatEndsTheTurnIsAnError(t *testing.T) {
	w := newWorld(t)
	kid := w.child(w.zero, "kid")
	own := errors.New("something else")
	for _, fails := range []error{fault.New(fault.Fenced, "f"), fault.New(fault.StorageFull, "s"), fault.New(fault.StorageIO, "s"),
		fault.New(fault.Cancelled, "c"), fault.New(fault.HistoryDamaged, "h"), context.Canceled, own} {
		for name, args := range map[string]string{"fork": `{"prompt":"x"}`, "send": `{"to":"kid","text":"x"}`, "kill": `{"agent":"kid"}`} {
			w.fail = fmt.Errorf("carry out: %w", fails)
			if a, err := w.call(w.zero, name, args); !errors.Is(err, fails) || !reflect.DeepEqual(a, tool.Answer{}) {
				t.Errorf("%s with %v: %+v, %v", name, fails, a, err)
			}
		}
	}
	for _, code := range []fault.Code{fault.NotFound, fault.DeadAgent, fault.Conflict, fault.InvalidText, fault.Ambiguous,
		fault.AgentZero, fault.BudgetExceeded, fault.Leased} {
		for name, args := range map[string]string{"fork": `{"prompt":"x"}`, "send": `{"to":"kid","text":"x"}`, "kill": `{"agent":"kid"}`} {
			w.fail = fmt.Errorf("carry out: %w", fault.New(code, "what").WithHint("why"))
			if a, err := w.call(w.zero, name, args); err != nil || !reflect.DeepEqual(a, tool.Failed("what: why")) {
				t.Errorf("%s with %s: %+v, %v", name, code, a, err)
			}
		}
	}
	// The end of the context is the end, whatever the kernel calls it.
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.DeadAgent, "killed"))
	if a, err := w.callAs(ctx, kid, "c", "wait", `{}`); err == nil {
		t.Errorf("%+v", a)
	}
	if w.row(kid).Status != agent.Running {
		t.Error("kid is dead")
	}
}

// late is a kernel that made the children and failed afterwards.
type late struct{ seat }

func (l late) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	born, err := l.world.Fork(ctx, f)
	return born, errors.Join(err, errors.New("could not start them"))
}

func TestChildrenThatExistKeepTheirWorktrees(t *testing.T) {
	w := newWorld(t)
	calls := w.asks(w.zero, `{"prompt":"a","worktree":true}`)
	if err := process.New(late{seat{w, w.zero}}, w.Store, w.zero)[0].(tool.Batch).RunAll(t.Context(), calls); err != nil {
		t.Errorf("the results stand in the history, and yet: %v", err)
	}
	if len(w.trees) != 1 || len(w.undone) != 0 {
		t.Errorf("%v %v", w.trees, w.undone)
	}
	w.context(w.zero)
}

// Both sides are told where a worktree begins, and what it lacks.
func TestBothKnowWhereAWorktreeBegins(t *testing.T) {
	w := newWorld(t)
	calls := w.asks(w.zero, `{"prompt":"a","name":"left","worktree":true}`)
	answer := testkit.Must(process.New(seat{w, w.zero}, w.Store, w.zero)[0].Run(t.Context(), calls[0]))(t)
	const begins = ", branch ramet/left from 01234567 with 2 uncommitted files"
	if !strings.Contains(answer.Text, begins) || !strings.Contains(answer.Text, "It lacks your uncommitted changes of socket.") {
		t.Error(answer.Text)
	}
	left, _, err := w.Store.Named(t.Context(), "left")
	testkit.OK(t, err)
	told := ""
	for e, err := range w.Store.QueryRange(t.Context(), history.Range{Agent: left.ID}, history.Selection{}) {
		testkit.OK(t, err)
		parts := testkit.Must(e.Parts())(t)
		for _, p := range parts {
			told += p.Text + "\n"
		}
	}
	if !strings.Contains(told, begins) || !strings.Contains(told, "It lacks your parent's uncommitted changes of socket.") {
		t.Error(told)
	}
}

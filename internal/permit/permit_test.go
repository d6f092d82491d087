package permit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/tool"
)

func spec(name string, access tool.Access) tool.Spec {
	return tool.Spec{Name: name, Access: access, Subject: func(args json.RawMessage) string {
		var s string
		json.Unmarshal(args, &s)
		return s
	}}
}

func call(subject string) tool.Call {
	args, _ := json.Marshal(subject)
	return tool.Call{Agent: "a", Args: args}
}

// asker answers with a function.
type asker func(context.Context, Question) (Verdict, error)

func (f asker) Ask(ctx context.Context, q Question) (Verdict, error) { return f(ctx, q) }

func says(c Choice, words string) asker {
	return func(context.Context, Question) (Verdict, error) { return Verdict{c, words}, nil }
}

var (
	bash  = spec("bash", tool.Commands)
	write = spec("write", tool.Writes)
)

func TestDecisions(t *testing.T) {
	there, missing := func() error { return nil }, func() error { return errors.New("no Landlock") }
	never := asker(func(context.Context, Question) (Verdict, error) { panic("asked") })
	for name, c := range map[string]struct {
		policy  *Policy
		spec    tool.Spec
		subject string
		want    tool.Grant
		refusal string
	}{
		"reads":                {&Policy{}, spec("read", tool.Reads), "../x", tool.Free, ""},
		"processes":            {&Policy{}, spec("fork", tool.Processes), "", tool.Free, ""},
		"a rule":               {&Policy{Rules: rules(t, "bash(go test *)"), Ask: never}, bash, "go test x", tool.Free, ""},
		"a rule, sandboxed":    {&Policy{Rules: rules(t, "bash(go test *)"), Unasked: true, Confinable: there}, bash, "go test x", tool.Free, ""},
		"sandbox":              {&Policy{Unasked: true, Confinable: there, Ask: never}, bash, "rm x", tool.Confine, ""},
		"sandbox, a file":      {&Policy{Unasked: true, Confinable: missing, Ask: never}, write, "x", tool.Free, ""},
		"sandbox missing":      {&Policy{Unasked: true, Confinable: missing}, bash, "go test", "", "bash (go test) was not permitted: there is no sandbox to run it in unasked: no Landlock; and nobody can be asked: the user can permit it with --allow 'bash(go test *)'"},
		"no sandbox named":     {&Policy{Unasked: true}, bash, "go test", "", "there is no sandbox to run it in unasked: this system has none that ramet knows"},
		"sandbox missing, yes": {&Policy{Unasked: true, Confinable: missing, Ask: says(Once, "")}, bash, "go test", tool.Free, ""},
		"headless":             {&Policy{Rules: rules(t, "bash(go test *)")}, bash, "go test && go vet", "", "bash (go test && go vet) was not permitted: no rule permits it, and nobody can be asked: the user can permit it with --allow 'bash(go vet *)'"},
		"headless, a quote":    {&Policy{}, bash, `echo "it's"`, "", `--allow 'bash(echo it'\''s)'`},
		"headless, a file":     {&Policy{}, write, "docs/a.md", "", "--allow 'write(docs/a.md)'"},
		"headless, nothing":    {&Policy{}, bash, "x $(y)", "", "only --allow bash would permit it, which permits every call of that tool"},
		"headless, foreign":    {&Policy{}, spec("deploy", tool.Commands), "x", "", "no rule can permit this tool"},
		"once":                 {&Policy{Ask: says(Once, "")}, bash, "rm x", tool.Free, ""},
		"always":               {&Policy{Ask: says(Always, "")}, bash, "rm x", tool.Free, ""},
		"refused":              {&Policy{Ask: says(Refuse, " ")}, bash, "rm \x1b[2Jx", "", "the user did not permit bash (rm ␛[2Jx): do not try it in another way"},
		"refused, with words":  {&Policy{Ask: says(Refuse, "use mv")}, bash, "rm x", "", "the user did not permit bash (rm x) and says: use mv"},
		"an odd verdict":       {&Policy{Ask: says("", "")}, bash, "rm x", "", "the user did not permit"},
		"cannot be asked": {&Policy{Ask: asker(func(context.Context, Question) (Verdict, error) { return Verdict{Choice: Always}, errors.New("gone") })},
			bash, "rm x", "", "the user could not be asked: gone"},
	} {
		got, err := c.policy.Decide(t.Context(), c.spec, call(c.subject))
		if got != c.want || (err != nil) != (c.refusal != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && (!fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.refusal)
		}
	}
}

func TestTheQuestionSaysEverything(t *testing.T) {
	var asked Question
	p := &Policy{Unasked: true, Confinable: func() error { return errors.New("no Landlock") },
		Ask: asker(func(_ context.Context, q Question) (Verdict, error) { asked = q; return Verdict{}, nil })}
	s := bash
	s.Summary = func(json.RawMessage) string { return "runs\n  it" }
	p.Decide(t.Context(), s, call("go test x"))
	if asked.Agent != "a" || asked.Tool != "bash" || asked.Summary != "runs it" || asked.Subject != "go test x" ||
		len(asked.Suggestion) != 1 || asked.Suggestion[0].String() != "bash(go test *)" || !strings.Contains(asked.Why, "no Landlock") {
		t.Errorf("%+v", asked)
	}
}

func TestAlwaysHoldsForThatAndNotForMore(t *testing.T) {
	asked := 0
	p := &Policy{Ask: asker(func(context.Context, Question) (Verdict, error) { asked++; return Verdict{Choice: Always}, nil })}
	for _, c := range []struct {
		line  string
		asked int
	}{
		{"go test a", 1}, {"go test b", 1}, {"go vet", 2}, {"go test; go vet", 2},
		{"x $(y)", 3}, {"x $(y)", 4}, // no narrow rule permits it
		{"rm a", 5}, {"rm a", 5}, {"rm a b", 6},
	} {
		if g, err := p.Decide(t.Context(), bash, call(c.line)); g != tool.Free || err != nil || asked != c.asked {
			t.Errorf("%q: %q, %v, asked %d times", c.line, g, err, asked)
		}
	}
}

// Many ask for the same at once: one question at a time, and after an Always none.
func TestQuestionsComeOneAtATime(t *testing.T) {
	var open, total atomic.Int32
	p := &Policy{}
	p.Ask = asker(func(context.Context, Question) (Verdict, error) {
		if open.Add(1) != 1 {
			t.Error("two questions at once")
		}
		defer open.Add(-1)
		if total.Add(1) == 1 {
			return Verdict{Choice: Once}, nil
		}
		return Verdict{Choice: Always}, nil
	})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if g, err := p.Decide(t.Context(), bash, call("go test x")); g != tool.Free || err != nil {
				t.Error(g, err)
			}
		})
	}
	all.Wait()
	if total.Load() != 2 {
		t.Errorf("asked %d times", total.Load())
	}
}

func TestWhoWaitsForAQuestionCanBeCancelled(t *testing.T) {
	asking, answer := make(chan bool), make(chan bool)
	p := &Policy{Ask: asker(func(ctx context.Context, q Question) (Verdict, error) {
		asking <- true
		select {
		case <-answer:
			return Verdict{Choice: Once}, nil
		case <-ctx.Done():
			return Verdict{Choice: Once}, nil // an asker that does not look
		}
	})}
	first := make(chan error)
	go func() { _, err := p.Decide(t.Context(), bash, call("a")); first <- err }()
	<-asking
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g, err := p.Decide(ctx, bash, call("b")); g != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %q, %v", g, err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-asking; cancel() }()
	answer = make(chan bool)
	if g, err := p.Decide(ctx, bash, call("c")); g != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("asking: %q, %v", g, err)
	}
}

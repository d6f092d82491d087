package httpapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/kernel"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

const calls = `
{"when": "first", "steps": [{"call": "bash", "args": {"command": "rm -rf old"}}]}
{"when": "done", "steps": [{"text": "removed"}]}
{"when": "second", "steps": [{"call": "bash", "args": {"command": "rm -rf new"}}]}
{"when": "not permit", "steps": [{"text": "then not"}]}
{"when": "third", "steps": [{"call": "bash", "args": {"command": "go test ./..."}}]}
{"when": "done", "steps": [{"call": "bash", "args": {"command": "go test ./..."}}]}
{"when": "done", "steps": [{"text": "tested"}]}
`

func TestPermissionIsAskedAndAnswered(t *testing.T) {
	f := newFloor(t, calls)
	s := opened(t, f)
	w := s.watch(t, "", "")
	ask := func(prompt string) (Ask, EventLine) {
		t.Helper()
		s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: prompt}, 202, nil)
		e, _ := w.until(isType(loop.Asking, f.zero.ID))
		var list AskList
		s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
		if len(list.Asks) != 1 || list.Asks[0].ID != e.Ask || list.Asks[0].Text != e.Text || list.Asks[0].Agent != f.zero.ID || list.Asks[0].Tool != "bash" {
			t.Fatalf("%+v %+v", list, e)
		}
		return list.Asks[0], e
	}
	answer := func(a Ask, in AnswerInput) {
		t.Helper()
		s.good(t, "POST", "/api/v1/permissions/"+a.ID, in, 204, nil)
		if e, _ := w.until(isType(loop.Answered, f.zero.ID)); e.Ask != a.ID || e.Text != in.Answer {
			t.Errorf("%+v", e)
		}
	}
	ends := func() string {
		t.Helper()
		e, _ := w.until(isType(loop.TurnEnded, f.zero.ID))
		return e.Outcome.Text
	}
	a, _ := ask("first")
	var now AgentNow
	s.good(t, "GET", "/api/v1/agents/0", nil, 200, &now)
	if now.Doing == nil || now.State.Word != "asks" {
		t.Errorf("%+v", now)
	}
	s.ask(t, "POST", "/api/v1/permissions/"+a.ID, AnswerInput{Answer: "perhaps"}).refused(t, 422, "INVALID_FIELD")
	s.ask(t, "POST", "/api/v1/permissions/nothing", AnswerInput{Answer: "allow"}).refused(t, 404, "NOT_FOUND")
	answer(a, AnswerInput{Answer: "once"})
	if got := ends(); got != "removed" || !strings.Contains(<-f.ran, "rm -rf old") {
		t.Errorf("%q", got)
	}
	s.ask(t, "POST", "/api/v1/permissions/"+a.ID, AnswerInput{Answer: "deny"}).refused(t, 409, "CONFLICT")
	a, _ = ask("second")
	answer(a, AnswerInput{Answer: "no", Words: "keep it"})
	if got := ends(); got != "then not" || len(f.ran) != 0 {
		t.Errorf("%q", got)
	}
	a, _ = ask("third")
	if len(a.Always) == 0 || a.Subject != "go test ./..." {
		t.Errorf("%+v", a)
	}
	answer(a, AnswerInput{Answer: "agent"})
	if got := ends(); got != "tested" || len(f.ran) != 2 { // the second call was not asked about
		t.Errorf("%q, %d calls", got, len(f.ran))
	}
}

// What is granted holds for the calls after it, and the history says who granted what, from where; what cannot be granted is refused.
func TestGrantsAreKeptAndRecorded(t *testing.T) {
	var script strings.Builder
	for _, command := range []string{"touch a", "touch a", "touch b", "touch b", "git push"} {
		fmt.Fprintf(&script, `{"steps": [{"call": "bash", "args": {"command": %q}}]}`+"\n", command)
	}
	f := newFloor(t, script.String()+`{"steps": [{"text": "that is all"}]}`)
	s := opened(t, f)
	w := s.watch(t, "", "")
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: "one"}, 202, nil)
	next := func(subject string) (path, rule, no string) {
		t.Helper()
		w.until(isType(loop.Asking, f.zero.ID))
		var list AskList
		s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
		if len(list.Asks) != 1 || list.Asks[0].Subject != subject || len(list.Asks[0].Choices) != 5 || list.Asks[0].Choices[0].Choice != string(permit.Refuse) {
			t.Fatalf("%+v", list)
		}
		last := list.Asks[0].Choices[4]
		return "/api/v1/permissions/" + list.Asks[0].ID, last.Rule, last.No
	}
	answer := func(path string, in AnswerInput, status int) {
		t.Helper()
		s.good(t, "POST", path, in, status, nil)
	}
	a, _, _ := next("touch a")
	answer(a, AnswerInput{Answer: "y"}, 422)
	answer(a, AnswerInput{Answer: "agent"}, 204) // the second call is not asked about
	b, rule, _ := next("touch b")
	if rule != "bash(touch b)" {
		t.Errorf("%q", rule)
	}
	answer(b, AnswerInput{Answer: "project", Rule: "bash"}, 422) // it would permit everything
	answer(b, AnswerInput{Answer: "project", Rule: "bash(rm *)"}, 422)
	answer(b, AnswerInput{Answer: "project", Rule: "bash(touch *)"}, 204)
	push, rule, no := next("git push")
	if rule != "" || !strings.Contains(no, "it pushes") {
		t.Errorf("%q %q", rule, no)
	}
	answer(push, AnswerInput{Answer: "project"}, 422)
	answer(push, AnswerInput{Answer: "because", Words: "not on a Sunday"}, 204)
	w.until(isType(loop.TurnEnded, f.zero.ID))
	page := testkit.Must(f.Workspace.History().Page(t.Context(), f.zero.ID, session.Span{Limit: 100}))(t)
	log := ""
	for _, e := range page.Entries {
		if e.About.Permission != nil {
			log += e.About.Permission.String() + "\n"
		}
		for _, p := range e.Parts {
			log += p.Text + "\n"
		}
	}
	for _, want := range []string{"allowed by token holder (http), for this agent and its children: bash(touch a)", "allowed by rule bash(touch a), granted by token holder (http)",
		"for this project: bash(touch *)", "allowed by rule bash(touch *) (project)", "refused by token holder (http)", "not on a Sunday"} {
		if !strings.Contains(log, want) {
			t.Errorf("the history does not say %q:\n%s", want, log)
		}
	}
	var found public.Search
	if s.good(t, "GET", "/api/v1/search?q=refused+by+token&agent=0", nil, 200, &found); len(found.Found) != 1 || found.Found[0].Kind != "tool_result" || !strings.HasPrefix(found.Found[0].Around, "refused by token holder (http)") {
		t.Errorf("who refused it is not found: %+v", found)
	}
	var mode struct{ Mode permit.Mode }
	s.good(t, "POST", "/api/v1/agents/0/mode", map[string]string{"mode": "read-only"}, 200, &mode)
	if now, err := f.Workspace.Turns().Standing(t.Context(), f.zero); err != nil || mode.Mode != permit.ReadOnly || now.Mode != permit.ReadOnly {
		t.Errorf("%+v %+v %v", mode, now, err)
	}
}

// A turn that ends takes its question with it.
func TestAnInterruptedTurnAsksNoMore(t *testing.T) {
	f := newFloor(t, calls)
	s := opened(t, f)
	w := s.watch(t, "", "")
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: "first"}, 202, nil)
	w.until(isType(loop.Asking, ""))
	s.good(t, "POST", "/api/v1/agents/0/interrupt", struct{}{}, 200, nil)
	if e, _ := w.until(isType(loop.Answered, "")); e.Text != "withdrawn" {
		t.Errorf("%+v", e)
	}
	var list AskList
	s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
	if len(list.Asks) != 0 || len(f.ran) != 0 {
		t.Errorf("%+v", list)
	}
}

// What a question cannot mean is refused, and so is a second answer.
func TestAnswersAreChecked(t *testing.T) {
	f := newFloor(t, calls)
	seen, enough := f.Kernel.Events.Subscribe(t.Context())
	defer enough()
	turn := testkit.Must(f.Kernel.Exec(t.Context(), f.zero.ID, kernel.Prompt{Text: "first"}))(t)
	for e := range seen {
		if e.Type != loop.Asking {
			continue
		}
		for _, c := range []struct {
			ask    string
			choice permit.Choice
			code   fault.Code
		}{{e.Ask, "perhaps", fault.InvalidField}, {e.Ask, permit.Once, ""}, {e.Ask, permit.Refuse, fault.Conflict}, {"nothing", permit.Refuse, fault.NotFound}} {
			if err := f.Asks.Answer(c.ask, permit.Verdict{Choice: c.choice}); (err == nil) != (c.code == "") || err != nil && !fault.Is(err, c.code) {
				t.Errorf("%s: %v", c.choice, err)
			}
		}
		break
	}
	if out, err := turn.Wait(); err != nil || out.Text != "removed" || len(f.ran) != 1 {
		t.Errorf("%+v %v", out, err)
	}
}

func TestTheFirstAnswerCounts(t *testing.T) {
	for range 200 {
		a := NewAsks(0)
		asked := make(chan string, 1)
		var answered atomic.Int32
		a.Tell(func(e loop.Event) {
			if e.Type == loop.Asking {
				asked <- e.Ask
			} else {
				answered.Add(1)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		verdict, failed := make(chan permit.Verdict, 1), make(chan error, 1)
		go func() {
			v, err := a.Ask(ctx, permit.Question{Tool: "bash"})
			verdict <- v
			failed <- err
		}()
		name := <-asked
		var all sync.WaitGroup
		var won atomic.Value
		var count atomic.Int32
		for _, choice := range []permit.Choice{permit.Once, permit.ForAgent, permit.Refuse} {
			all.Go(func() {
				if err := a.Answer(name, permit.Verdict{Choice: choice}); err == nil {
					won.Store(choice)
					count.Add(1)
				} else if !fault.Is(err, fault.Conflict) {
					t.Error(err)
				}
			})
		}
		all.Go(cancel)
		all.Wait()
		v, err := <-verdict, <-failed
		switch {
		case count.Load() == 0 && errors.Is(err, context.Canceled):
		case count.Load() == 1 && err == nil && v.Choice == won.Load():
		default:
			t.Fatalf("%d answers, %+v %v", count.Load(), v, err)
		}
		if answered.Load() != 1 || len(a.List()) != 0 {
			t.Fatalf("%d told", answered.Load())
		}
	}
}

func TestAQuestionEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsks(time.Minute)
		begin := time.Now()
		v, err := a.Ask(t.Context(), permit.Question{Tool: "bash"})
		if !fault.Is(err, fault.TimedOut) || v.Choice != "" || time.Since(begin) != time.Minute {
			t.Errorf("%+v %v", v, err)
		}
	})
}

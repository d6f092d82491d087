package httpapi

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/kernel"
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

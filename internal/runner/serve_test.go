package runner

import (
	"context"
	"errors"
	"testing"

	"ramet/internal/base/fault"
)

// fenced is a host whose items end as somebody wants, and the orchestrator that hears of it.
type fenced struct {
	Orchestrator
	task   Task
	ends   error    // of the item
	says   error    // of the orchestrator, to what is delivered
	heard  *Failure // by it
	called int
}

func (f *fenced) Claim(_ context.Context, id, _ string) (Attempt, error) {
	return Attempt{ID: id, Task: f.task}, nil
}

func (f *fenced) Do(context.Context, Attempt, Orchestrator) (Result, error) { return Result{}, f.ends }

func (f *fenced) Deliver(_ context.Context, _ string, _ Result, failure *Failure) error {
	f.called++
	f.heard = failure
	return f.says
}

// A host whose agent lost its lease is alive, and its attempt is current: who did not hear of it would wait for ever.
func TestWhatALostLeaseEndedIsTold(t *testing.T) {
	taken := fault.New(fault.Fenced, "agent ada was taken over by another kernel")
	for name, c := range map[string]struct {
		task Task
		want Failure
	}{
		"an agent":   {Task{Prompt: "write"}, Failure{Code: string(fault.Interrupted), Message: taken.Message, Retryable: true}},
		"a built-in": {Task{Uses: "push", External: true}, Failure{Code: string(fault.UnknownOutcome), Message: taken.Message, Unknown: true}},
	} {
		f := &fenced{task: c.task, ends: taken}
		if err := ServeAttempt(t.Context(), Enqueued{ID: "r:draft:1:i01"}, "h", f, f, nil); err != nil || f.called != 1 || f.heard == nil || *f.heard != c.want {
			t.Errorf("%s: %+v, told %d times: %v", name, f.heard, f.called, err)
		}
	}
	overtaken := &fenced{ends: taken, says: fault.New(fault.Fenced, "work item r:draft:1:i01 is not current")}
	if err := ServeAttempt(t.Context(), Enqueued{ID: "r:draft:1:i01"}, "h", overtaken, overtaken, nil); err != nil {
		t.Errorf("one that is not current any more: %v", err)
	}
	away := &fenced{says: errors.New("nobody is there")}
	if err := ServeAttempt(t.Context(), Enqueued{ID: "r:draft:1:i01"}, "h", away, away, nil); err == nil || away.heard != nil {
		t.Errorf("what could not be told is over: %v", err)
	}
}

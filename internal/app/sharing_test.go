package app

import (
	"context"
	"slices"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// What another host claimed first stays on the common list: taking it off would end that host's
// work. What is done here goes from it.
func TestWhatIsTakenOffTheCommonList(t *testing.T) {
	common := &listed{}
	s := sharing{runner.NewMemoryQueue(), common}
	defer s.here.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := &divided{theirs: "r:draft:1:b", stop: stop}
	testkit.OK(t, s.Enqueue(ctx, enqueued("r:draft:1:a"), enqueued(d.theirs), enqueued("r:draft:1:c"), enqueued("r:draft:1:last")))
	testkit.OK(t, s.serve(ctx, []string{runner.Work}, 1, d, d))
	if want := []string{"r:draft:1:a", "r:draft:1:c"}; !slices.Equal(common.cancelled, want) || !slices.Equal(d.delivered, append(want, "r:draft:1:last")) {
		t.Errorf("taken off: %q, done: %q, want %q", common.cancelled, d.delivered, want)
	}
	if len(common.waiting) != 4 {
		t.Errorf("%d wait for other hosts", len(common.waiting))
	}
}

func enqueued(id string) runner.Enqueued {
	return runner.Enqueued{ID: id, RunID: "r", Queue: runner.Work}
}

// listed is a common list.
type listed struct {
	runner.Queue
	waiting   []runner.Enqueued
	cancelled []string
}

func (l *listed) Enqueue(_ context.Context, attempts ...runner.Enqueued) error {
	l.waiting = append(l.waiting, attempts...)
	return nil
}

func (l *listed) Cancel(_ context.Context, id string) error {
	l.cancelled = append(l.cancelled, id)
	return nil
}

// divided is an orchestrator one of whose items another host has, and who does the others. It stops
// with the last.
type divided struct {
	runner.Orchestrator
	theirs    string
	stop      func()
	delivered []string
}

func (d *divided) Claim(_ context.Context, itemID, _ string) (runner.Attempt, error) {
	if itemID == d.theirs {
		return runner.Attempt{}, fault.New(fault.Fenced, "it is done by another")
	}
	return runner.Attempt{ID: itemID}, nil
}

func (d *divided) Do(context.Context, runner.Attempt, runner.Orchestrator) (runner.Result, error) {
	return runner.Result{}, nil
}

func (d *divided) Deliver(_ context.Context, itemID string, _ runner.Result, _ *runner.Failure) error {
	d.delivered = append(d.delivered, itemID)
	if itemID == "r:draft:1:last" {
		d.stop()
	}
	return nil
}

package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// gate is a sink that writes when it is told to.
type gate struct {
	batches [][]run.Entry
	begun   chan int
	answer  chan error
}

func newGate() *gate { return &gate{begun: make(chan int), answer: make(chan error)} }

func (g *gate) write(entries []run.Entry) error {
	g.begun <- len(entries)
	err := <-g.answer
	if err == nil {
		g.batches = append(g.batches, append([]run.Entry(nil), entries...))
	}
	return err
}

func TestThoseWhoWaitShareTheNextWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		c := run.NewCommitter("the log", run.CommitState{}, g.write)
		var wg sync.WaitGroup
		appendOne := func(n int) {
			wg.Go(func() {
				if _, err := c.Append(t.Context(), runtest.LogDraft(n)); err != nil {
					t.Error(err)
				}
			})
		}
		appendOne(0)
		if n := <-g.begun; n != 1 {
			t.Errorf("the first writes %d", n)
		}
		for n := 1; n <= 20; n++ {
			appendOne(n)
			synctest.Wait()
		}
		g.answer <- nil
		if n := <-g.begun; n != 20 {
			t.Errorf("those who waited write %d", n)
		}
		g.answer <- nil
		wg.Wait()
		for i, e := range g.batches[1] {
			if e.ID != runtest.LogDraft(i+1).ID || e.Line != int64(i+2) {
				t.Errorf("%d-th is line %d, %s", i, e.Line, e.ID)
			}
		}
		if s := c.State(); s.Count != 21 || s.Last.ID != runtest.LogDraft(20).ID {
			t.Errorf("ends at %d", s.Count)
		}
	})
}

// Who gives up while waiting writes nothing; who gives up while being written is
// told the truth; and the line goes on, also if it was their turn to lead.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		c := run.NewCommitter("the log", run.CommitState{}, g.write)
		var wg sync.WaitGroup
		start := func(n int, want fault.Code) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				_, err := c.Append(ctx, runtest.LogDraft(n))
				if want == "" && err != nil || want != "" && !fault.Is(err, want) {
					t.Errorf("event %d: %v", n, err)
				}
			})
			synctest.Wait()
			return cancel
		}
		cancel0 := start(0, "")
		<-g.begun
		cancel1 := start(1, fault.Cancelled)
		cancel2 := start(2, fault.Cancelled)
		cancel3 := start(3, "")
		cancel0() // too late
		cancel2()
		synctest.Wait()
		cancel1()
		synctest.Wait()
		g.answer <- nil
		if n := <-g.begun; n != 1 {
			t.Errorf("%d are written", n)
		}
		g.answer <- nil
		wg.Wait()
		cancel3()
		if s := c.State(); s.Count != 2 || s.Last.ID != runtest.LogDraft(3).ID {
			t.Errorf("ends at %d with %s", s.Count, s.Last.ID)
		}
	})
}

func TestFailures(t *testing.T) {
	full := fault.New(fault.StorageFull, "full")
	var answer error
	c := run.NewCommitter("the log", run.CommitState{}, func([]run.Entry) error { return answer })
	try := func(n int) error {
		_, err := c.Append(t.Context(), runtest.LogDraft(n))
		return err
	}
	for _, answer = range []error{full, nil} {
		if err := try(0); !errors.Is(err, answer) {
			t.Error(err)
		}
	}
	answer = full
	if err := try(1); !errors.Is(err, full) {
		t.Error(err)
	}
	answer = nil
	if err := try(1); err != nil { // its id is not taken
		t.Error(err)
	}
	answer = &run.FatalError{fault.New(fault.StorageIO, "sync failed")}
	if err := try(2); !fault.Is(err, fault.StorageIO) {
		t.Error(err)
	}
	answer = nil
	for range 2 {
		if err := try(2); !fault.Is(err, fault.StorageIO) || !strings.Contains(err.Error(), "earlier") {
			t.Error(err)
		}
	}
	if s := c.State(); s.Count != 2 {
		t.Errorf("ends at %d", s.Count)
	}
	c.Close()
}

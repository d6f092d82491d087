package runtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// RunQueueTests tests a queue. place makes a new place for queues, of which open opens one for a
// host; the test closes it.
func RunQueueTests(t *testing.T, place func(t *testing.T) (open func(host string) Queue)) {
	for _, test := range []struct {
		name string
		do   func(t *testing.T, q Queue)
	}{
		{"what waits or is being done is not enqueued twice", twice},
		{"what ended is handed out again", again},
		{"the oldest comes first", inOrder},
		{"a cancelled job does not start", cancelledQueuetest},
		{"Cancel ends the context of whoever does it", cancelledAtWork},
		{"what is unknown or wrong", wrong},
		{"never more at once than allowed", most},
		{"a host takes only from its queues", ownQueues},
		{"what Serve leaves undone waits again", undone},
		{"a thousand jobs", thousand},
		{"a closed queue says so", closedQueuetest},
	} {
		t.Run(test.name, func(t *testing.T) {
			open := place(t)
			q := open("one")
			t.Cleanup(func() {
				if err := q.Close(); err != nil {
					t.Error(err)
				}
			})
			test.do(t, q)
		})
	}
}

func twice(t *testing.T, q Queue) {
	EnqueueJob(t, q, "r:a", "r:a", "r:b")
	EnqueueJob(t, q, "r:a")
	release := make(chan struct{})
	s := ServeQueue(t, q, 2, func(context.Context, runner.Enqueued) error { <-release; return nil })
	s.Expect("r:a", "r:b")
	EnqueueJob(t, q, "r:a", "r:last")
	close(release)
	s.Expect("r:last")
	if n := s.Count("r:a"); n != 1 {
		t.Errorf("handed out %d times", n)
	}
}

// again does one job after the other: when b is handed out, a has ended. The end of Serve
// has that noted.
func again(t *testing.T, q Queue) {
	for _, fail := range []error{nil, errors.New("no desk"), nil} {
		s := ServeQueue(t, q, 1, func(context.Context, runner.Enqueued) error { return fail })
		EnqueueJob(t, q, "r:a", "r:b")
		s.Expect("r:a", "r:b")
		testkit.OK(t, s.End())
	}
}

func inOrder(t *testing.T, q Queue) {
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("r:%02d", i))
		EnqueueJob(t, q, want[i])
	}
	s := ServeQueue(t, q, 1, nil)
	for _, id := range want {
		if j := WithinTime(t, s.Handed); j != NewJob(id) {
			t.Fatalf("handed out %v, want %s", j, id)
		}
	}
}

func cancelledQueuetest(t *testing.T, q Queue) {
	release := make(chan struct{})
	s := ServeQueue(t, q, 1, func(_ context.Context, j runner.Enqueued) error {
		if j.ID == "r:first" {
			<-release
		}
		return nil
	})
	EnqueueJob(t, q, "r:first")
	s.Expect("r:first")
	EnqueueJob(t, q, "r:not", "r:next")
	CancelJob(t, q, "r:not")
	close(release)
	s.Expect("r:next")
	EnqueueJob(t, q, "r:not")
	s.Expect("r:not")
}

func cancelledAtWork(t *testing.T, q Queue) {
	ended, release := make(chan error), make(chan struct{})
	var once sync.Once
	s := ServeQueue(t, q, 1, func(ctx context.Context, j runner.Enqueued) (err error) {
		once.Do(func() {
			<-ctx.Done()
			ended <- ctx.Err()
			<-release
			err = ctx.Err()
		})
		return err
	})
	EnqueueJob(t, q, "r:a")
	s.Expect("r:a")
	CancelJob(t, q, "r:a")
	if err := WithinTime(t, ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	EnqueueJob(t, q, "r:b")
	EnqueueJob(t, q, "r:a") // while it is ending
	close(release)
	s.Expect("r:a", "r:b")
}

func wrong(t *testing.T, q Queue) {
	CancelJob(t, q, "r:nobody")
	if ids, err := q.Takeover(t.Context(), "nobody"); err != nil || len(ids) != 0 {
		t.Error(ids, err)
	}
	if err := q.Enqueue(t.Context(), runner.Enqueued{ID: "r:a"}); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
	testkit.OK(t, q.Enqueue(t.Context()))
	if err := q.Serve(t.Context(), nil, 1, nil); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
	if err := q.Serve(t.Context(), []string{"work"}, 0, nil); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
}

// most has jobs in two queues: the limit is that of both together.
func most(t *testing.T, q Queue) {
	const allowed, jobs = 3, 21
	var mu sync.Mutex
	var now, highest int
	gate := make(chan struct{}, jobs)
	s := ServeQueues(t, q, []string{"work", "more"}, allowed, func(context.Context, runner.Enqueued) error {
		mu.Lock()
		now++
		highest = max(highest, now)
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		return nil
	})
	for i := range jobs {
		j := NewJob(fmt.Sprintf("r:%02d", i))
		if i%2 == 1 {
			j.Queue = "more"
		}
		testkit.OK(t, q.Enqueue(t.Context(), j))
	}
	for range allowed { // all places are taken at once
		WithinTime(t, s.Handed)
	}
	for range jobs - allowed {
		gate <- struct{}{}
		WithinTime(t, s.Handed)
	}
	close(gate)
	testkit.OK(t, s.End())
	if highest != allowed {
		t.Errorf("%d at once, want %d", highest, allowed)
	}
}

func ownQueues(t *testing.T, q Queue) {
	others := []runner.Enqueued{{ID: "r:other", RunID: "r", Queue: "other"}, {ID: "r:odd", RunID: "r", Queue: "Odd--name "}}
	testkit.OK(t, q.Enqueue(t.Context(), others...))
	EnqueueJob(t, q, "r:a", "r:b")
	s := ServeQueue(t, q, 2, nil)
	s.Expect("r:a", "r:b")
	testkit.OK(t, s.End())
	for _, other := range others {
		s := ServeQueues(t, q, []string{other.Queue}, 2, nil)
		if j := WithinTime(t, s.Handed); j != other {
			t.Error(j)
		}
		if err := s.End(); err != nil {
			t.Error(err)
		}
	}
}

func undone(t *testing.T, q Queue) {
	s := ServeQueue(t, q, 2, func(ctx context.Context, j runner.Enqueued) error {
		<-ctx.Done()
		if j.ID == "r:done" {
			return nil
		}
		return ctx.Err()
	})
	EnqueueJob(t, q, "r:undone", "r:done", "r:waiting")
	s.Expect("r:undone", "r:done")
	testkit.OK(t, s.End())
	s = ServeQueue(t, q, 1, nil)
	s.Expect("r:undone", "r:waiting")
	EnqueueJob(t, q, "r:last")
	s.Expect("r:last")
}

func thousand(t *testing.T, q Queue) {
	const jobs = 1000
	var mu sync.Mutex
	times := map[string]int{}
	all := make(chan struct{})
	s := ServeQueue(t, q, 4, func(_ context.Context, j runner.Enqueued) error {
		mu.Lock()
		defer mu.Unlock()
		if times[j.ID]++; len(times) == jobs && times[j.ID] == 1 {
			close(all)
		}
		return nil
	})
	for i := 0; i < jobs; i += 50 {
		var ids []string
		for k := range 50 {
			ids = append(ids, fmt.Sprintf("r:%d", i+k))
		}
		EnqueueJob(t, q, ids...)
	}
	WithinTime(t, all)
	testkit.OK(t, s.End())
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was handed out %d times", id, n)
		}
	}
}

func closedQueuetest(t *testing.T, q Queue) {
	s := ServeQueue(t, q, 1, func(ctx context.Context, _ runner.Enqueued) error {
		<-ctx.Done()
		return ctx.Err()
	})
	EnqueueJob(t, q, "r:a")
	s.Expect("r:a")
	if err := q.Close(); err != nil { // ends Serve too
		t.Fatal(err)
	}
	testkit.OK(t, s.End())
	if err := q.Enqueue(t.Context(), NewJob("r:b")); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if err := q.Serve(t.Context(), []string{"work"}, 1, nil); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

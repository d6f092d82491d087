package runner_test

import (
	"context"
	"sync"
	"testing"

	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// forgetful is a queue between hosts that loses whatever it is told first.
type forgetful struct {
	*runner.MemoryQueue
	mu   sync.Mutex
	seen map[string]bool
}

func (q *forgetful) Enqueue(ctx context.Context, jobs ...runner.Enqueued) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		if !q.seen[j.ID] {
			q.seen[j.ID] = true
			continue
		}
		if err := q.MemoryQueue.Enqueue(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

func TestAQueueThatLosesItemsIsToldAgain(t *testing.T) {
	s := newSite(t, small)
	lossy := &forgetful{seen: map[string]bool{}}
	s.far = func(q *runner.MemoryQueue) runner.Queue {
		lossy.MemoryQueue = q
		return lossy
	}
	testkit.OK(t, s.execute(t.Context()))
	if len(lossy.seen) == 0 {
		t.Error("nothing went to other hosts")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, id := range s.items {
		if times[id]++; times[id] > 1 {
			t.Errorf("%s was done twice", id)
		}
	}
}

package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ramet/internal/runner"
	"ramet/internal/testkit/runtest"
)

func TestMemoryQueue(t *testing.T) {
	runtest.RunQueueTests(t, func(t *testing.T) func(string) runtest.Queue {
		runtest.Leakless(t)
		return func(string) runtest.Queue { return runner.NewMemoryQueue() }
	})
}

// BenchmarkQueuedToStarted is the time from Enqueue until the job begins, with a place
// free; 1 ms is promised. A hundred thousand others wait in another queue.
func BenchmarkQueuedToStarted(b *testing.B) {
	q := runner.NewMemoryQueue()
	defer q.Close()
	for i := range 100_000 {
		if err := q.Enqueue(b.Context(), runner.Enqueued{ID: fmt.Sprintf("r:rest:1:%d", i), RunID: "r", Queue: "rest"}); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	served, began := make(chan error, 1), make(chan time.Time)
	go func() {
		served <- q.Serve(ctx, []string{"work"}, 4, func(context.Context, runner.Enqueued) error { began <- time.Now(); return nil })
	}()
	var all time.Duration
	n := 0
	for b.Loop() {
		n++
		asked := time.Now()
		if err := q.Enqueue(ctx, runtest.NewJob(fmt.Sprintf("r:work:1:%d", n))); err != nil {
			b.Fatal(err)
		}
		all += (<-began).Sub(asked)
	}
	b.ReportMetric(float64(all)/float64(n)/float64(time.Millisecond), "of-1ms")
	cancel()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
}

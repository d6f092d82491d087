package dbosqueue_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/pgtest"
	"ramet/internal/runner"
	"ramet/internal/runner/dbosqueue"
)

// promised is what the engine may add to an item, of which this queue is one part.
const promised = 5 * time.Millisecond

// BenchmarkItemOfTenThousand is what a job costs from Enqueue until its end is noted,
// with four done at once and nothing to do. The ratio to the promise is to stay below 1,
// that of the last thousand to the first near 1, and the heap where it was.
func BenchmarkItemOfTenThousand(b *testing.B) {
	for b.Loop() {
		q, err := dbosqueue.OpenFile(b.Context(), filepath.Join(b.TempDir(), "queue.sqlite"))
		if err != nil {
			b.Fatal(err)
		}
		report(b, q, 10_000)
		if err := q.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkItemOnServer is the same for a thousand jobs on PostgreSQL; nothing is
// promised of it.
func BenchmarkItemOnServer(b *testing.B) {
	for b.Loop() {
		q := openServer(b, pgtest.URL(b), "bench")
		report(b, q, 1000)
		if err := q.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func report(b *testing.B, q queue, jobs int) {
	var done atomic.Int64
	all := make(chan struct{})
	times := make([]time.Time, jobs)
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() {
		served <- q.Serve(ctx, []string{"work"}, 4, func(context.Context, runner.Job) error {
			n := done.Add(1)
			times[n-1] = time.Now()
			if int(n) == jobs {
				close(all)
			}
			return nil
		})
	}()
	before := heap()
	start := time.Now()
	for i := range jobs {
		if err := q.Enqueue(ctx, runner.Job{ID: fmt.Sprintf("r:work:1:%d", i), RunID: "r", Queue: "work"}); err != nil {
			b.Fatal(err)
		}
	}
	<-all
	took := time.Since(start)
	after := heap()
	cancel()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	each := took / time.Duration(jobs)
	tenth := jobs / 10
	first, last := times[tenth].Sub(times[0]), times[jobs-1].Sub(times[jobs-1-tenth])
	b.ReportMetric(float64(each.Microseconds()), "µs/item")
	b.ReportMetric(float64(each)/float64(promised), "of-5ms")
	b.ReportMetric(float64(last)/float64(first), "last/first")
	b.ReportMetric((float64(after)-float64(before))/(1<<20), "MB-grown")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkItemAfterItem is what one job costs when the next is enqueued only after it:
// nothing is hidden by doing several at once.
func BenchmarkItemAfterItem(b *testing.B) {
	q, err := dbosqueue.OpenFile(b.Context(), filepath.Join(b.TempDir(), "queue.sqlite"))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	served, done := make(chan error, 1), make(chan struct{})
	go func() {
		served <- q.Serve(ctx, []string{"work"}, 1, func(context.Context, runner.Job) error { done <- struct{}{}; return nil })
	}()
	n := 0
	for b.Loop() {
		n++
		if err := q.Enqueue(ctx, runner.Job{ID: fmt.Sprintf("r:work:1:%d", n), RunID: "r", Queue: "work"}); err != nil {
			b.Fatal(err)
		}
		<-done
	}
	b.ReportMetric(float64(b.Elapsed())/float64(n)/float64(promised), "of-5ms")
	cancel()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	if err := q.Close(); err != nil {
		b.Fatal(err)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

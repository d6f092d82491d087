package riverqueue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ramet/internal/runner"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/runtest"
)

// BenchmarkQueuedToStarted is the time from the call of Enqueue on one host until the job
// begins on another; 20 ms are promised, also while a hundred thousand wait.
func BenchmarkQueuedToStarted(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("%d-wait", waiting), func(b *testing.B) {
			address := pgtest.URL(b)
			b.Cleanup(func() { drop(b, address) })
			boss, worker := open(b, address, "boss"), open(b, address, "worker")
			for i := 0; i < waiting; i += 1000 {
				jobs := make([]runner.Enqueued, 1000)
				for k := range jobs {
					jobs[k] = runner.Enqueued{ID: fmt.Sprintf("r:rest:1:%d", i+k), RunID: "r", Queue: "rest"}
				}
				if err := boss.Enqueue(b.Context(), jobs...); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(b.Context())
			served, began := make(chan error, 1), make(chan time.Time)
			go func() {
				served <- worker.Serve(ctx, []string{"work"}, 4, func(context.Context, runner.Enqueued) error { began <- time.Now(); return nil })
			}()
			var all []time.Duration
			for n := 0; b.Loop(); n++ {
				asked := time.Now()
				if err := boss.Enqueue(ctx, runtest.NewJob(fmt.Sprintf("r:work:1:%d", n))); err != nil {
					b.Fatal(err)
				}
				all = append(all, (<-began).Sub(asked))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2])/float64(time.Millisecond), "median-ms")
			b.ReportMetric(float64(all[len(all)*95/100])/float64(time.Millisecond), "95%-ms")
			b.ReportMetric(float64(all[len(all)/2])/float64(20*time.Millisecond), "of-20ms")
			cancel()
			if err := <-served; err != nil {
				b.Fatal(err)
			}
		})
	}
}

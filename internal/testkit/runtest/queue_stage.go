package runtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/runner"
	"ramet/internal/testkit"
)

// Queue is the queue under test.
type Queue interface {
	runner.Queue
	runner.Host
	Host() string
	Close() error
}

// NewJob is a job of the queue "work".
func NewJob(id string) runner.Enqueued { return runner.Enqueued{ID: id, RunID: "r", Queue: "work"} }

// EnqueueJob lets jobs of the queue "work" wait.
func EnqueueJob(t testing.TB, q runner.Queue, ids ...string) {
	t.Helper()
	var jobs []runner.Enqueued
	for _, id := range ids {
		jobs = append(jobs, NewJob(id))
	}
	testkit.OK(t, q.Enqueue(t.Context(), jobs...))
}

// CancelJob cancels a job.
func CancelJob(t testing.TB, q runner.Queue, id string) {
	t.Helper()
	testkit.OK(t, q.Cancel(t.Context(), id))
}

// Leakless sees to it that a test leaves no goroutine. One that ends by itself is none: a client of River that was
// cut off while it led tries three times to resign, for seconds, and nothing can hurry it.
func Leakless(t testing.TB) {
	others := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		var left error
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			if left = goleak.Find(others); left == nil {
				return
			}
		}
		t.Error(left)
	})
}

// WithinTime waits for something, not for ever.
func WithinTime[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	return testkit.Receive(t, "something happens", c)
}

// QueueServer is a Serve under way.
type QueueServer struct {
	Handed chan runner.Enqueued // what was handed out, in its order
	End    func() error         // ends it, and tells its error

	t     testing.TB
	mu    sync.Mutex
	times map[string]int
}

// ServeQueue hands each job to do, after telling it. It ends with the test at the latest.
func ServeQueue(t testing.TB, q runner.Host, parallel int, do func(ctx context.Context, j runner.Enqueued) error) *QueueServer {
	return ServeQueues(t, q, []string{"work"}, parallel, do)
}

// ServeQueues is Serve for other queues than "work".
func ServeQueues(t testing.TB, q runner.Host, queues []string, parallel int, do func(ctx context.Context, j runner.Enqueued) error) *QueueServer {
	s := &QueueServer{t: t, Handed: make(chan runner.Enqueued, 10_000), times: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, queues, parallel, func(ctx context.Context, j runner.Enqueued) error {
			s.mu.Lock()
			s.times[j.ID]++
			s.mu.Unlock()
			s.Handed <- j
			if do == nil {
				return nil
			}
			return do(ctx, j)
		})
	}()
	s.End = sync.OnceValue(func() error {
		cancel()
		return WithinTime(t, ended)
	})
	t.Cleanup(func() {
		if err := s.End(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Expect waits for jobs to be handed out, in any order.
func (s *QueueServer) Expect(ids ...string) {
	s.t.Helper()
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	for len(want) > 0 {
		j := WithinTime(s.t, s.Handed)
		if !want[j.ID] {
			s.t.Fatalf("%s was handed out, still expecting %v", j.ID, want)
		}
		delete(want, j.ID)
	}
}

// Count returns how often a job was handed out.
func (s *QueueServer) Count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[id]
}

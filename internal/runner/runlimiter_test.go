package runner

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// paced counts how many items are done at once.
type paced struct {
	Orchestrator
	limit int
	mu    sync.Mutex
	now   map[string]int
	most  map[string]int
	meet  chan struct{} // an item that begins says so
	end   chan struct{} // and waits
}

func (p *paced) Claim(_ context.Context, id, _ string) (Attempt, error) {
	return Attempt{ID: id, RunID: id[:1], Parallel: map[string]int{"a": p.limit, "b": 0}[id[:1]]}, nil
}

func (p *paced) Deliver(context.Context, string, Result, *Failure) error { return nil }

func (p *paced) Do(ctx context.Context, it Attempt, _ Orchestrator) (Result, error) {
	p.mu.Lock()
	p.now[it.RunID]++
	p.most[it.RunID] = max(p.most[it.RunID], p.now[it.RunID])
	p.mu.Unlock()
	p.meet <- struct{}{}
	<-p.end
	p.mu.Lock()
	p.now[it.RunID]--
	p.mu.Unlock()
	return Result{}, nil
}

// A host with room for many does of each run as many at once as that allows, and no more; who leaves
// while it waits leaves nothing behind.
func TestAHostKeepsTheLimitOfEachRun(t *testing.T) {
	var limiter RunLimiter
	p := &paced{limit: 2, now: map[string]int{}, most: map[string]int{}, meet: make(chan struct{}), end: make(chan struct{})}
	var all sync.WaitGroup
	for i := range 6 {
		for _, run := range []string{"a", "b"} {
			all.Go(func() {
				if err := limiter.Serve(t.Context(), Enqueued{ID: fmt.Sprint(run, i), RunID: run}, "h", p, p); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for range 8 { // two of a, all six of b
		<-p.meet
	}
	p.mu.Lock()
	if p.now["a"] != 2 || p.now["b"] != 6 {
		t.Errorf("%v at once", p.now)
	}
	p.mu.Unlock()
	gone, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- limiter.Serve(gone, Enqueued{ID: "a9", RunID: "a"}, "h", p, p) }()
	cancel()
	if err := <-left; err == nil {
		t.Error("it was done after all")
	}
	go func() {
		for range p.meet {
		}
	}()
	close(p.end)
	all.Wait()
	close(p.meet)
	if p.most["a"] != 2 || len(limiter.runs) != 0 {
		t.Errorf("%v at once, %d runs are left", p.most, len(limiter.runs))
	}
}

package runner

import (
	"context"
	"sync"
)

// RunLimiter limits the items of each run that a host does at once to what the run's recipe allows. The limit comes
// with the first item; until then it is one. The zero RunLimiter is ready.
type RunLimiter struct {
	mu   sync.Mutex
	runs map[string]*runSlots // by id; unused ones are removed
}

type runSlots struct {
	limit   int           // 0: not known yet
	doing   int           // items
	waiting int           // items
	changed chan struct{} // closed when an item may begin
}

// acquire waits until another item of a run may be done.
func (p *RunLimiter) acquire(ctx context.Context, runID string) error {
	p.mu.Lock()
	if p.runs == nil {
		p.runs = map[string]*runSlots{}
	}
	l := p.runs[runID]
	if l == nil {
		l = &runSlots{changed: make(chan struct{})}
		p.runs[runID] = l
	}
	l.waiting++
	for l.doing >= max(1, l.limit) {
		changed := l.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			l.waiting--
			p.forget(runID, l)
			p.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	l.waiting--
	l.doing++
	p.mu.Unlock()
	return nil
}

// setLimit sets how many items a run allows; 0: any number.
func (p *RunLimiter) setLimit(runID string, limit int) {
	if limit == 0 {
		limit = anyNumber
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runs[runID]
	if grown := limit > max(1, l.limit); grown {
		l.wake()
	}
	l.limit = limit
}

// anyNumber is more than a host does at once.
const anyNumber = 1 << 30

// release ends an item.
func (p *RunLimiter) release(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runs[runID]
	l.doing--
	l.wake()
	p.forget(runID, l)
}

func (l *runSlots) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (p *RunLimiter) forget(runID string, l *runSlots) {
	if l.doing == 0 && l.waiting == 0 && p.runs[runID] == l {
		delete(p.runs, runID)
	}
}

// Serve calls ServeAttempt within the limit of the run.
func (p *RunLimiter) Serve(ctx context.Context, j Enqueued, host string, d Orchestrator, s Executor) error {
	if err := p.acquire(ctx, j.RunID); err != nil {
		return err
	}
	defer p.release(j.RunID)
	return ServeAttempt(ctx, j, host, limitLearner{d, func(limit int) { p.setLimit(j.RunID, limit) }}, s)
}

// limitLearner reports the limit of a run when an item of it is claimed.
type limitLearner struct {
	Orchestrator
	learned func(limit int)
}

func (l limitLearner) Claim(ctx context.Context, itemID, host string) (Attempt, error) {
	it, err := l.Orchestrator.Claim(ctx, itemID, host)
	if err == nil {
		l.learned(it.Parallel)
	}
	return it, err
}

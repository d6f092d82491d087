package runner

import (
	"context"
	"math"
	"sync"
)

// RunLimiter limits the items of each run that a host does at once to what the run's recipe allows. The limit comes
// with the first item; until then it is one. The zero RunLimiter is ready.
type RunLimiter struct {
	mu   sync.Mutex
	runs map[string]*runSlots // by id; unused ones are removed
}

type runSlots struct {
	limit   int // 0: not known yet
	users   int // items that are done or wait
	doing   int
	changed *sync.Cond // of mu
}

// acquire waits until another item of a run may be done.
func (p *RunLimiter) acquire(ctx context.Context, runID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]*runSlots{}
	}
	l := p.runs[runID]
	if l == nil {
		l = &runSlots{changed: sync.NewCond(&p.mu)}
		p.runs[runID] = l
	}
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		l.changed.Broadcast()
	})()
	l.users++
	for l.doing >= max(1, l.limit) && ctx.Err() == nil {
		l.changed.Wait()
	}
	if ctx.Err() != nil {
		p.leave(runID, l)
		return context.Cause(ctx)
	}
	l.doing++
	return nil
}

// setLimit sets how many items a run allows; 0: any number.
func (p *RunLimiter) setLimit(runID string, limit int) {
	if limit == 0 {
		limit = math.MaxInt
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runs[runID]
	l.limit = limit
	l.changed.Broadcast()
}

// release ends an item.
func (p *RunLimiter) release(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runs[runID]
	l.doing--
	p.leave(runID, l)
}

// leave ends the use of a run's slots. The caller holds mu.
func (p *RunLimiter) leave(runID string, l *runSlots) {
	if l.users--; l.users == 0 {
		delete(p.runs, runID)
	}
	l.changed.Broadcast()
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

package runner

import (
	"context"
	"sync"
)

// Pace holds a host that serves several runs to what each of them allows: no more items of a run at
// once than its recipe says. How many that are comes with the first item; until then it is one. The
// zero Pace is ready.
type Pace struct {
	mu    sync.Mutex
	lanes map[string]*lane // by run; those that nobody is in are forgotten
}

type lane struct {
	limit   int           // 0: not known yet
	doing   int           // that are in
	waiting int           // that want in
	changed chan struct{} // closed when somebody may get in
}

// enter waits until another item of a run may be done, and takes its place.
func (p *Pace) enter(ctx context.Context, runID string) error {
	p.mu.Lock()
	if p.lanes == nil {
		p.lanes = map[string]*lane{}
	}
	l := p.lanes[runID]
	if l == nil {
		l = &lane{changed: make(chan struct{})}
		p.lanes[runID] = l
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

// learn takes what a run allows. 0: it does not say.
func (p *Pace) learn(runID string, limit int) {
	if limit == 0 {
		limit = anyNumber
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[runID]
	if grown := limit > max(1, l.limit); grown {
		l.wake()
	}
	l.limit = limit
}

// anyNumber is more than a host does at once.
const anyNumber = 1 << 30

// leave gives a place back.
func (p *Pace) leave(runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[runID]
	l.doing--
	l.wake()
	p.forget(runID, l)
}

func (l *lane) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (p *Pace) forget(runID string, l *lane) {
	if l.doing == 0 && l.waiting == 0 && p.lanes[runID] == l {
		delete(p.lanes, runID)
	}
}

// Serve is Serve, as one of so many items of its run.
func (p *Pace) Serve(ctx context.Context, j Enqueued, host string, d Orchestrator, s Executor) error {
	if err := p.enter(ctx, j.RunID); err != nil {
		return err
	}
	defer p.leave(j.RunID)
	return ServeAttempt(ctx, j, host, learning{d, func(limit int) { p.learn(j.RunID, limit) }}, s)
}

// learning tells what a run allows when an item of it is claimed.
type learning struct {
	Orchestrator
	learned func(limit int)
}

func (l learning) Claim(ctx context.Context, itemID, host string) (Attempt, error) {
	it, err := l.Orchestrator.Claim(ctx, itemID, host)
	if err == nil {
		l.learned(it.Parallel)
	}
	return it, err
}

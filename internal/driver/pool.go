package driver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"ramet/internal/base/id"
)

// Pool keeps the programs of agents that do nothing for a while, so that the next turn need
// not start one. All methods are safe for concurrent use.
type Pool struct {
	// Rest is how long a program that nobody asks anything is kept; 0: five minutes. Most is
	// how many are kept at a time, the newest; 0: 20.
	Rest time.Duration
	Most int

	mu     sync.Mutex
	idle   map[id.Agent]*resting
	busy   map[id.Agent]Session
	closed bool
}

// resting is a session between two turns.
type resting struct {
	session Session
	mark    id.Message // the newest entry of the session
	since   time.Time
	timer   *time.Timer
}

// take gives out the session of an agent, if it is the one that its history ends with and can work
// as is wished.
func (p *Pool) take(ctx context.Context, a id.Agent, session string, mark id.Message, w Wish) Session {
	p.mu.Lock()
	r := p.idle[a]
	delete(p.idle, a)
	p.mu.Unlock()
	if r == nil {
		return nil
	}
	r.timer.Stop()
	alive := true
	select {
	case <-r.session.Ended():
		alive = false
	default:
	}
	if alive && session != "" && r.session.About().Session == session && r.mark == mark {
		if r.session.About().Wish == w {
			return r.session
		}
		if ok, err := r.session.Choose(ctx, w); err == nil && ok {
			return r.session
		}
	}
	r.session.End()
	return nil
}

// use notes that a session works, so that End finds it.
func (p *Pool) use(a id.Agent, s Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == nil {
		p.busy = map[id.Agent]Session{}
	}
	p.busy[a] = s
}

// put keeps a session whose turn has ended; mark is its newest entry.
func (p *Pool) put(a id.Agent, s Session, mark id.Message) {
	rest, most := p.Rest, p.Most
	rest = cmp.Or(rest, 5*time.Minute)
	most = cmp.Or(most, 20)
	r := &resting{session: s, mark: mark, since: time.Now()}
	p.mu.Lock()
	delete(p.busy, a)
	if p.closed {
		p.mu.Unlock()
		s.End()
		return
	}
	if p.idle == nil {
		p.idle = map[id.Agent]*resting{}
	}
	r.timer = time.AfterFunc(rest, func() { p.expire(a, r) })
	p.idle[a] = r
	var over Session
	if len(p.idle) > most {
		over = p.oldest()
	}
	p.mu.Unlock()
	if over != nil {
		over.End()
	}
}

// oldest takes out the one that has rested longest; the caller has the mutex.
func (p *Pool) oldest() Session {
	var who id.Agent
	var found *resting
	for a, r := range p.idle {
		if found == nil || r.since.Before(found.since) {
			who, found = a, r
		}
	}
	delete(p.idle, who)
	found.timer.Stop()
	return found.session
}

func (p *Pool) expire(a id.Agent, r *resting) {
	p.mu.Lock()
	mine := p.idle[a] == r
	if mine {
		delete(p.idle, a)
	}
	p.mu.Unlock()
	if mine {
		r.session.End()
	}
}

// drop forgets a session that was ended.
func (p *Pool) drop(a id.Agent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, a)
}

// End ends the program of an agent, and returns when nothing of it is alive.
func (p *Pool) End(a id.Agent) {
	p.mu.Lock()
	r, busy := p.idle[a], p.busy[a]
	delete(p.idle, a)
	p.mu.Unlock()
	if r != nil {
		r.timer.Stop()
		r.session.End()
	}
	if busy != nil {
		busy.End()
	}
}

// Close ends all programs; none is kept from now on.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := make([]Session, 0, len(p.idle)+len(p.busy))
	for _, r := range p.idle {
		r.timer.Stop()
		all = append(all, r.session)
	}
	for _, s := range p.busy {
		all = append(all, s)
	}
	p.idle = nil
	p.mu.Unlock()
	var work sync.WaitGroup
	for _, s := range all {
		work.Go(s.End)
	}
	work.Wait()
}

// patience is how long a program may take to answer that it cancelled.
const patience = 5 * time.Second

// ends waits for a channel, but not for ever.
func ends(ctx context.Context, over <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	}
}

package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/model/llm"
)

// Total is what went through a door.
type Total struct {
	Calls     int64 // of models, that were sent
	Uncounted int64 // of them, whose usage nobody knows
	Refused   int64 // that no budget held, and were not sent
	Usage     llm.Usage
	Cost      llm.Money
}

// Since is what came after an earlier total.
func (t Total) Since(was Total) Total {
	t.Calls -= was.Calls
	t.Uncounted -= was.Uncounted
	t.Refused -= was.Refused
	t.Cost -= was.Cost
	u, v := t.Usage, was.Usage
	t.Usage = llm.Usage{Input: u.Input - v.Input, Output: u.Output - v.Output, CacheRead: u.CacheRead - v.CacheRead, CacheWrite: u.CacheWrite - v.CacheWrite,
		Reasoning: u.Reasoning - v.Reasoning, CacheHour: u.CacheHour - v.CacheHour, Billed: u.Billed - v.Billed, Searches: u.Searches - v.Searches}
	return t
}

// counter adds up what goes through a door.
type counter struct {
	mu   sync.Mutex
	sum  Total              // guarded by mu
	open map[*underway]bool // calls that are not recorded yet; guarded by mu
	news chan struct{}      // closed when one is recorded; guarded by mu
}

// underway is a call whose answer is on its way.
type underway struct {
	told atomic.Bool // the program may know already that it is all
}

func (t *counter) begin() *underway {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open, t.news = map[*underway]bool{}, make(chan struct{})
	}
	u := &underway{}
	t.open[u] = true
	return u
}

// refuse counts a call that no budget held.
func (t *counter) refuse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Refused++
}

// end takes what a call came to; nil: it was not sent, or refused.
func (t *counter) end(u *underway, r *Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, u)
	close(t.news)
	t.news = make(chan struct{})
	if r == nil {
		return
	}
	t.sum.Calls++
	if !r.Counted {
		t.sum.Uncounted++
	}
	t.sum.Cost += r.Cost
	t.sum.Usage = t.sum.Usage.Plus(r.Usage)
}

// recordTime is how long the record of an answer that a program has may take.
const recordTime = 5 * time.Second

// Total is what went through so far. Calls whose whole answer the program may have are waited
// for, so that whoever asks after the program has spoken finds all that led to it.
func (t *counter) Total(ctx context.Context) Total {
	late := time.NewTimer(recordTime)
	defer late.Stop()
	for {
		sum, news := t.look()
		if news == nil {
			return sum
		}
		select {
		case <-news:
		case <-late.C:
			return sum
		case <-ctx.Done():
			return sum
		}
	}
}

// look is the sum; news is nil if nothing has to be waited for.
func (t *counter) look() (sum Total, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.open {
		if u.told.Load() {
			return t.sum, t.news
		}
	}
	return t.sum, nil
}

package kernel

import (
	"context"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/model/llm"
)

// counter counts what is under way. The zero counter counts nothing.
type counter struct {
	forking  sync.Mutex // held while children of the family are made
	attended bool       // a person sees what the family does
	of       id.Agent   // whose prompt it is, where it has terms
	terms    *Terms     // nil: none

	mu   sync.Mutex
	n    int
	woke map[id.Agent]int // how often letters began a turn of each
	// before returns the count of the process whose work continues here; nil if there is none.
	before func(id.Agent) int
	none   chan struct{} // closed when n falls to 0; made when it leaves 0
}

func (t *counter) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

// now is the count.
func (t *counter) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *counter) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// wait returns when the count is 0 at some moment.
func (t *counter) wait(ctx context.Context) error {
	t.mu.Lock()
	n, none := t.n, t.none
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// wakes reports whether mail may begin another turn of an agent.
func (t *counter) wakes(a id.Agent, most int) bool {
	if t == nil || most == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.woken(a) < most
}

// woken returns the number of turns of an agent that mail began; the caller holds the mutex.
func (t *counter) woken(a id.Agent) int {
	if t.woke == nil {
		t.woke = map[id.Agent]int{}
	}
	if _, known := t.woke[a]; !known && t.before != nil {
		t.woke[a] = t.before(a)
	}
	return t.woke[a]
}

// wake counts a turn of an agent that a letter begins, if it may.
func (t *counter) wake(a id.Agent, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.woken(a); most > 0 && n >= most {
		return false
	}
	t.woke[a]++
	return true
}

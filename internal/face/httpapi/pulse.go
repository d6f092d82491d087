package httpapi

import (
	"context"
	"sync"
	"time"
)

// What a store is said to be.
const (
	storeOK          = "ok"
	storeDegraded    = "degraded"    // it is slow, or does not answer since a moment ago
	storeUnreachable = "unreachable" // it does not answer
)

const (
	pulseWait  = time.Second      // how long an answer is waited for
	pulseFresh = time.Second      // how long an answer is good for
	pulseLost  = 10 * time.Second // after how long without an answer a store is unreachable
)

// pulse knows whether a store answers. Whoever wants to know has it asked, all of them at
// most once a second, and none of them waits for longer than a second.
type pulse struct {
	ask func(context.Context) error // nil: nobody has to be asked

	mu     sync.Mutex    // guards what follows
	heard  time.Time     // when the store answered last
	asked  time.Time     // when it was asked last
	asking chan struct{} // closed when the answer is there; nil: nothing is asked
}

func (p *pulse) state(ctx context.Context) string {
	if p.ask == nil {
		return ""
	}
	select {
	case <-p.begin():
	case <-time.After(pulseWait):
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.heard.Before(p.asked):
		return storeOK
	case time.Since(p.heard) < pulseLost:
		return storeDegraded
	}
	return storeUnreachable
}

// begin asks, unless it is known or being asked.
func (p *pulse) begin() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asking != nil {
		return p.asking
	}
	over := make(chan struct{})
	if time.Since(p.asked) < pulseFresh {
		close(over)
		return over
	}
	p.asking, p.asked = over, time.Now()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), pulseLost)
		defer cancel()
		err := p.ask(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.heard = time.Now()
		}
		p.asking = nil
		close(over)
	}()
	return over
}

package kernel

import (
	"time"

	"ramet/internal/turn/loop"
)

// restAfter is the time for which an idle agent's conversation stays in memory. Later it is read again.
const restAfter = 10 * time.Minute

// kept is the part of an agent that the kernel keeps between its turns. While the agent works, its process owns it;
// otherwise it is all there is: no goroutine, no channel, no tool.
type kept struct {
	talk     *loop.Conversation
	forgot   int64              // Kernel.forgot when talk was made
	legacy   *loop.Conversation // what a child inherits, until it is first needed; guarded by the kernel's mutex
	known    known
	restarts restarts
	opened   bool      // hooks were told that a person talks with it
	since    time.Time // when nobody worked with the agent any more; guarded by the kernel's mutex
}

// leave ends a visit.
func (k *Kernel) leave(p *agentProcess) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.visits--
	p.idles()
}

// idles leaves of an agent only what is kept, if nothing is done, waits or is about to come; the caller
// has the mutex. From then on the process is nobody's.
func (p *agentProcess) idles() {
	k := p.kernel
	if p.serves || p.visits > 0 || p.pending > 0 || len(p.inbox) > 0 || k.live[p.id] != p {
		return
	}
	delete(k.live, p.id)
	if p.talk != nil || p.legacy != nil || p.opened || len(p.restarts) > 0 {
		p.since = time.Now()
		k.idle[p.id] = p.kept
	}
}

// rest forgets agents that nobody worked with for a long time.
func (k *Kernel) rest() {
	for {
		select {
		case <-time.After(k.tire(time.Now())):
		case <-k.ctx.Done():
			return
		}
	}
}

// tire forgets those whose time is over, and says when to look again: at the next one's, but not all the
// time.
func (k *Kernel) tire(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.Rest
	for a, was := range k.idle {
		left := k.Rest - now.Sub(was.since)
		if left <= 0 {
			delete(k.idle, a)
			continue
		}
		next = min(next, left)
	}
	return max(next, k.Rest/60, time.Millisecond)
}

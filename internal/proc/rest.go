package proc

import (
	"time"

	"ramet/internal/id"
)

// restAfter is how long an agent that was worked with keeps its goroutine and its
// conversation in memory. Whoever wants it later has both made again.
const restAfter = 10 * time.Minute

// visit finds the goroutine of an agent, if it has one, and keeps it there until it is left.
func (k *Kernel) visit(a id.Agent) (p *process, leave func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p = k.live[a]; p == nil {
		return nil, func() {}
	}
	p.visits++
	return p, func() { k.leave(p) }
}

func (k *Kernel) leave(p *process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.visits--
}

// rests says that the agent's goroutine may end: nothing is done, waits or is about to come.
// From then on it is nobody's.
func (p *process) rests() bool {
	k := p.kernel
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.visits > 0 || p.pending > 0 || p.stop != nil || p.lease != nil || len(p.inbox) > 0 || k.live[p.id] != p {
		return false
	}
	delete(k.live, p.id)
	return true
}

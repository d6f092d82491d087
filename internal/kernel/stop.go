package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// Stop is the request that a turn ends.
type Stop struct {
	Agent id.Agent
	// Ticket identifies a prompt (Prompt.Ticket) to cancel, whether it waits or comes later; if empty, only the current turn
	// is stopped.
	Ticket string
	Also   []string // tickets of further prompts
}

// Interrupt stops the turn of an agent, if there is one, and returns when it is over:
// nothing of it runs, and its history says so. Prompts that wait go on waiting, but for the
// those that are taken back. false: there was nothing to stop.
func (k *Kernel) Interrupt(ctx context.Context, s Stop) (bool, error) {
	withdrawn := k.Withdraw(append([]string{s.Ticket}, s.Also...)...)
	stopped, err := k.end(ctx, s.Agent, loop.Stopped(history.ActorOf(ctx), errInterrupted()))
	return stopped || len(withdrawn) > 0, err
}

// errStopped is the cause of turns that end because their kernel stops.
var errStopped = sync.OnceValue(func() *fault.Error { return fault.New(fault.Interrupted, "the kernel was stopped") })

// errKilled is the cause of turns of a killed agent.
var errKilled = sync.OnceValue(func() *fault.Error { return fault.New(fault.DeadAgent, "the agent was killed") })

// errWithdrawn is the result of a prompt that was cancelled before it was sent.
var errWithdrawn = sync.OnceValue(func() *fault.Error {
	return fault.New(fault.Cancelled, "withdrawn before its turn began; nothing was sent")
})

// errInterrupted is the cause of a turn that was interrupted.
var errInterrupted = sync.OnceValue(func() *fault.Error { return fault.New(fault.Cancelled, "stopped by the user") })

// lastWords limits the time in which a stopped turn closes its history.
const lastWords = 5 * time.Second

// revokedFor is the time for which a cancelled prompt is remembered: far longer than one is on its way.
const revokedFor = time.Minute

// enlist notes a job that can be taken back; false: it was, already.
func (k *Kernel) enlist(j *job, p *agentProcess) bool {
	name := j.prompt.Ticket
	if name == "" {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, gone := k.tickets.revoked[name]; gone {
		delete(k.tickets.revoked, name)
		return false
	}
	if k.tickets.waiting == nil {
		k.tickets.waiting = map[string]*waiting{}
	}
	k.tickets.waiting[name] = &waiting{j, p}
	return true
}

// take begins a job; false: it was taken back. begins is called with the mutex, in the moment in
// which the job waits no more: a caller that takes it back from then on finds what it began.
func (k *Kernel) take(j *job, begins func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if name := j.prompt.Ticket; name != "" {
		if _, ok := k.tickets.waiting[name]; !ok {
			return false
		}
		delete(k.tickets.waiting, name)
	}
	begins()
	return true
}

// nothing does nothing: it is the start of a job that ends without a turn of its own.
func nothing() {}

// Withdraw takes prompts back, should they still wait or come later, and returns the tickets of those that waited.
func (k *Kernel) Withdraw(tickets ...string) (taken []string) {
	for _, ticket := range tickets {
		if ticket == "" {
			continue
		}
		k.mu.Lock()
		w := k.tickets.waiting[ticket]
		delete(k.tickets.waiting, ticket)
		if w == nil { // it is refused when it comes
			k.revoke(ticket)
		}
		k.mu.Unlock()
		if w != nil {
			w.of.over(w.job, loop.Outcome{}, errWithdrawn())
			taken = append(taken, ticket)
		}
	}
	return taken
}

// revoke remembers a ticket; the caller has the mutex. One whose turn began is not there any
// more, and stands here until it is forgotten.
func (k *Kernel) revoke(ticket string) {
	now := time.Now()
	if k.tickets.revoked == nil {
		k.tickets.revoked = map[string]time.Time{}
	}
	for name, at := range k.tickets.revoked {
		if now.Sub(at) > revokedFor {
			delete(k.tickets.revoked, name)
		}
	}
	k.tickets.revoked[ticket] = now
}

package kernel

import (
	"time"

	"ramet/internal/turn/loop"
)

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
// which the job waits no more: whoever takes it back from then on finds what it began.
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
		if k.withdraw(ticket) {
			taken = append(taken, ticket)
		}
	}
	return taken
}

// withdraw ends a job that waits; one that is not known yet is refused when it comes.
func (k *Kernel) withdraw(ticket string) bool {
	if ticket == "" {
		return false
	}
	k.mu.Lock()
	w := k.tickets.waiting[ticket]
	delete(k.tickets.waiting, ticket)
	if w == nil {
		k.revoke(ticket)
	}
	k.mu.Unlock()
	if w == nil {
		return false
	}
	w.of.over(w.job, loop.Outcome{}, errWithdrawn())
	return true
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

package kernel

import (
	"context"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
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

// Kill ends an agent, with its subtree if asked, and returns when nothing of the
// victims runs, here or in another kernel of this machine. The registry comes
// first: from then on no victim writes, forks or begins anything.
func (k *Kernel) Kill(ctx context.Context, kill registry.Kill) (registry.Killed, error) {
	done, err := k.Store.Kill(ctx, kill)
	if err != nil {
		return done, err
	}
	// A kill that was committed and not carried out is carried out now.
	victims := []id.Agent{}
	if done.Before {
		victims = append(victims, done.Agent.ID)
	}
	for _, v := range done.Victims {
		victims = append(victims, v.ID)
	}
	rings := make([]registry.Ring, len(victims))
	for i, v := range victims {
		rings[i] = registry.Ring{Agent: v, What: registry.RingKilled}
	}
	k.reap(ctx, kill.By, victims...)
	k.Tell(ctx, rings...)
	k.wake("") // the caller that waits for one of them would wait for ever
	return done, nil
}

// reap ends what runs of agents that are dead in the registry, the last first:
// victims are listed with parents before children.
func (k *Kernel) reap(ctx context.Context, by id.Agent, victims ...id.Agent) {
	var ending []chan struct{}
	var tasks []id.Agent
	defer func() { k.forgive(tasks) }()
	k.gate.cut(victims) // spending ends first
	for _, a := range slices.Backward(victims) {
		k.mu.Lock()
		p, was := k.live[a], k.idle[a]
		delete(k.live, a)
		delete(k.idle, a)
		if p != nil {
			close(p.killed)
			if p.stop != nil {
				p.stop(errKilled())
				ending = append(ending, p.ended)
			}
			if p.tasked {
				tasks = append(tasks, a)
				p.mourned = true
			}
		}
		k.mu.Unlock()
		if p != nil || was != nil {
			k.Events.Publish(loop.Event{Type: loop.Killed, Agent: a})
		}
	}
	for _, ended := range ending {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
	k.abandon(victims...)
	for _, a := range tasks {
		if err := k.obituary(ctx, by, a); err != nil {
			k.trouble(ctx, "tell of the end of "+a.Short(), err)
		}
	}
}

// obituary tells the nearest living ancestor of a task that was killed, unless it
// was the one who did it; once for a whole subtree. The dead write no letters: it is
// from the user.
func (k *Kernel) obituary(ctx context.Context, by, victim id.Agent) error {
	dead, err := k.Store.Agent(ctx, victim)
	if err != nil {
		return err
	}
	parent, err := k.Store.Agent(ctx, dead.Parent)
	if err != nil || parent.Status == agent.Dead && parent.EndedAt.Equal(dead.EndedAt) {
		return err // they died together: one transaction has one time
	}
	up, ok, err := k.ancestor(ctx, dead)
	if err != nil || !ok || up.ID == by {
		return err
	}
	if _, err = k.send(ctx, registry.Send{From: id.Kernel, About: dead.ID, To: up.ID,
		Body: "Agent " + dead.Label() + " (" + string(dead.ID) + ") was killed: " + dead.EndReason}, nil); err == nil {
		k.askedFor(ctx, up.ID, dead.ID, nil)
	}
	return err
}

// Exit implements process.Kernel. It is the end of an agent by its own hand: its parent gets the result, and its
// turn ends by itself.
func (h verbs) Exit(ctx context.Context, _ id.Agent, result string) error {
	k, p := h.Kernel, h.p
	a, err := k.Store.Agent(ctx, p.id)
	if err != nil {
		return err
	}
	if err := registry.MayKill(a); err != nil {
		return err
	}
	if result == "" {
		result = "I have ended."
	}
	p.exiting(true) // the caller that reads its letter finds that it does not work any more
	told, err := k.notify(ctx, a, "", k.claim(p.id), cut(result, 0), state.Well)
	if err != nil {
		p.exiting(false)
		return err
	}
	if _, err := k.Store.Kill(ctx, registry.Kill{Agent: p.id, By: p.id, Reason: "exited"}); err != nil {
		p.exiting(false)
		return err
	}
	p.died()
	if told != "" {
		family, _ := k.busy(p.id)
		k.askedFor(ctx, told, p.id, family)
	}
	return nil
}

func (p *agentProcess) exiting(does bool) {
	p.kernel.mu.Lock()
	p.exits = does
	p.kernel.mu.Unlock()
}

// died records that the agent's own turn killed it: no other caller ends it.
func (p *agentProcess) died() {
	k := p.kernel
	k.mu.Lock()
	if k.live[p.id] == p {
		delete(k.live, p.id)
		close(p.killed)
	}
	k.mu.Unlock()
	k.abandon(p.id)
	k.wake("")
}

// retire ends the agent at the end of its last turn, and everything below it. That takes
// the place of giving back the lease.
func (p *agentProcess) retire(ctx context.Context, reason string) error {
	k := p.kernel
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	done, err := k.Store.Kill(ctx, registry.Kill{Agent: p.id, Cascade: true, By: p.id, Reason: reason})
	if err != nil {
		return err
	}
	p.died()
	var below []id.Agent
	var rings []registry.Ring
	for _, v := range done.Victims {
		if v.ID != p.id {
			below = append(below, v.ID)
			rings = append(rings, registry.Ring{Agent: v.ID, What: registry.RingKilled})
		}
	}
	if len(below) > 0 {
		k.reap(ctx, p.id, below...)
		k.Tell(ctx, rings...)
	}
	return nil
}

// living refuses the dead, for verbs that need no lease.
func (k *Kernel) living(ctx context.Context, a id.Agent) (agent.Agent, error) {
	found, err := k.Store.Agent(ctx, a)
	if err != nil {
		return found, err
	}
	return found, agent.NeedLiving(found)
}

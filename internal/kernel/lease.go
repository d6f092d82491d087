package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// hold takes the lease of the agent, also from a kernel that is known to be dead,
// and reads the agent as it is then. It may have had the lease since its birth.
func (p *agentProcess) hold(ctx context.Context, born time.Time) (agent.Agent, error) {
	k := p.kernel
	if err := k.mended(ctx, p.id); err != nil {
		return agent.Agent{}, err
	}
	a, began, err := agent.Agent{}, born, error(nil)
	if !born.IsZero() && k.Now().Sub(born) < k.Lease/3 {
		a, err = k.Store.Agent(ctx, p.id)
	}
	if err != nil || a.Status != agent.Running || a.Lease.Owner != k.Owner {
		a, began, err = p.awaitLease(ctx)
	}
	if err != nil {
		return agent.Agent{}, err
	}
	k.mu.Lock()
	p.lease, p.leased, p.late = &a.Lease, began, false
	k.mu.Unlock()
	return a, nil
}

// leaseLook is the time between looks whether another process has given an agent back.
const leaseLook = 30 * time.Millisecond

// awaitLease acquires the lease of the agent. A process of this machine that holds it runs a turn, and is waited for;
// if it does not answer, the error is LEASED.
func (p *agentProcess) awaitLease(ctx context.Context) (a agent.Agent, began time.Time, err error) {
	k := p.kernel
	for asked := ""; ; {
		began = k.Now()
		a, err = k.acquire(ctx, p.id)
		if !fault.Is(err, fault.Leased) || k.Answers == nil {
			p.becomes(func(d *doing) { d.elsewhere = false })
			return a, began, err
		}
		for {
			lease, holds, lerr := agent.FindHolder(ctx, k.Store, p.id, k.Gone)
			if lerr != nil {
				return a, began, lerr
			}
			if !holds {
				break
			}
			if lease.Owner != asked {
				if err := k.Answers(ctx, lease.Owner); err != nil {
					return a, began, err
				}
				asked = lease.Owner
				p.becomes(func(d *doing) { d.elsewhere = true })
				k.Events.Publish(loop.Event{Type: loop.Waiting, Agent: p.id, Text: "waits until the agent's turn in another process has ended"})
			}
			select {
			case <-time.After(leaseLook):
			case <-ctx.Done():
				return a, began, llm.Ended(ctx)
			}
		}
	}
}

// mended waits until nobody here mends the agent. Both would hold one lease, and
// write side by side.
func (k *Kernel) mended(ctx context.Context, a id.Agent) error {
	k.mu.Lock()
	done := k.mending[a]
	k.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// mend marks an agent as being repaired until done is called; ok is false if it is already, or has a turn, which repairs
// it first.
func (k *Kernel) mend(a id.Agent) (done func(), ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.live[a]; k.mending[a] != nil || p != nil && p.stop != nil {
		return nil, false
	}
	over := make(chan struct{})
	k.mending[a] = over
	return func() {
		k.mu.Lock()
		delete(k.mending, a)
		k.mu.Unlock()
		close(over)
	}, true
}

func (k *Kernel) acquire(ctx context.Context, name id.Agent) (agent.Agent, error) {
	held, err := k.Store.Acquire(ctx, name, k.Owner, k.Lease)
	if !fault.Is(err, fault.Leased) {
		return held, err
	}
	lease, holds, lerr := agent.FindHolder(ctx, k.Store, name, k.Gone)
	if lerr != nil || holds || lease.Owner == "" {
		return held, err
	}
	if _, err := k.Store.Seize(ctx, name, lease, k.Owner, k.Lease); err != nil {
		return held, err
	}
	// It is ours by now, and read as it is under the lease.
	if held, err = k.Store.Acquire(ctx, name, k.Owner, k.Lease); err != nil {
		k.owes.Store(true)
	}
	return held, err
}

// release gives the lease back.
func (p *agentProcess) release(ctx context.Context) {
	k := p.kernel
	k.mu.Lock()
	lease := p.lease
	p.lease = nil
	_, stays := k.keeps[p.id]
	k.mu.Unlock()
	k.drafts.forget(p.id)
	if stays {
		return
	}
	select {
	case <-p.killed: // the kill took it; asking 10,000 times would take seconds
		return
	default:
	}
	within := lastWords
	if p.cutOff {
		within = time.Second // nobody is there
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if err := k.Store.Release(ctx, p.id, k.Owner, lease.Epoch); err != nil {
		if !lost(err) {
			k.owes.Store(true)
		}
		k.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the lease runs out by itself: " + err.Error()})
	}
}

// Owes reports whether a lease couldn't be released, for example on a full disk. Others must then be able to tell that
// the kernel is dead, or nothing can acquire the agent before the lease expires.
func (k *Kernel) Owes() bool { return k.owes.Load() }

// claim is the right under which the kernel writes for an agent now: its lease, or
// a passing one.
func (k *Kernel) claim(a id.Agent) agent.Claim {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.live[a]; p != nil && p.lease != nil {
		return agent.Held(k.Owner, p.lease.Epoch)
	}
	if lease, ok := k.keeps[a]; ok {
		return agent.Held(k.Owner, lease.Epoch)
	}
	return agent.Passing()
}

// entitled does something that writes an agent's history for a user. The right to write is
// looked up before it is used, and a turn of our own may begin or end in between; then what
// was refused is done again with the right as it is now. Nothing was written before.
func (k *Kernel) entitled(ctx context.Context, a id.Agent, do func(agent.Claim) error) error {
	until := time.Now().Add(retryFor)
	for {
		claim := k.claim(a)
		err := do(claim)
		_, _, held := claim.Holder()
		switch {
		case held && fault.Is(err, fault.Fenced):
		case !held && fault.Is(err, fault.Leased) && k.holdsNow(ctx, a):
		default:
			return err
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond) // the turn is about to know
	}
}

// insert writes as entitled does, for entries that may be written beside a process that holds the agent (agent.Beside).
func (k *Kernel) insert(ctx context.Context, a id.Agent, do func(agent.Claim) error) error {
	err := k.entitled(ctx, a, do)
	if !fault.Is(err, fault.Leased) {
		return err
	}
	if _, holds, lerr := agent.FindHolder(ctx, k.Store, a, k.Gone); lerr != nil || !holds {
		return err
	}
	if err = do(agent.Beside()); err == nil {
		k.Tell(ctx, registry.Ring{Agent: a, What: registry.RingForked})
	}
	return err
}

// retryFor limits the retries of entitled: far longer than a turn takes to begin or end, and far shorter than a lease.
const retryFor = 2 * time.Second

// holdsNow reports whether the store has this kernel as the holder of an agent.
func (k *Kernel) holdsNow(ctx context.Context, a id.Agent) bool {
	now, err := k.Store.Agent(ctx, a)
	return err == nil && (now.Lease.Owner == k.Owner || now.Lease.Owner == "")
}

// held lists what the kernel believes to hold.
func (k *Kernel) held() []agent.Holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []agent.Holding
	for _, p := range k.live {
		if p.lease != nil {
			out = append(out, agent.Holding{Agent: p.id, Epoch: p.lease.Epoch})
		}
	}
	for a, lease := range k.keeps {
		if p := k.live[a]; p == nil || p.lease == nil {
			out = append(out, agent.Holding{Agent: a, Epoch: lease.Epoch})
		}
	}
	return out
}

// lose stops the turn of an agent whose lease is somebody else's, or that is dead.
func (k *Kernel) lose(ctx context.Context, name id.Agent) {
	a, err := k.Store.Agent(ctx, name)
	switch {
	case err != nil:
		k.trouble(ctx, "read agent", err)
	case a.Status == agent.Dead:
		k.reap(ctx, "", name)
	case k.holds(a):
		// It was given back, or taken anew, while we looked.
	default:
		by := a.Lease.Owner
		if by == "" {
			by = "another process, which has ended since"
		}
		k.end(ctx, name, fault.New(fault.Fenced, "agent %s was taken over by %s", a.Label(), by))
	}
}

// holds reports whether the lease in the registry is the one that this kernel holds.
func (k *Kernel) holds(a agent.Agent) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.live[a.ID]
	return p == nil || p.lease == nil || a.Lease.Owner == k.Owner && a.Lease.Epoch == p.lease.Epoch
}

// Kept is an agent whose lease the kernel holds beyond turns.
type Kept struct {
	kernel *Kernel
	id     id.Agent
}

// Keep holds the lease of an agent beyond its turns, until Release: its row then shows that its owner lives.
// A run's orchestrator keeps the run's own agent this way. LEASED while another process holds it, CONFLICT if
// another one took it meanwhile. Keep may be called again for an agent whose lease was lost.
func (k *Kernel) Keep(ctx context.Context, a id.Agent) (Kept, error) {
	if err := k.mended(ctx, a); err != nil {
		return Kept{}, err
	}
	held, err := k.acquire(ctx, a)
	if err != nil {
		return Kept{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keeps[a] = held.Lease
	return Kept{k, a}, nil
}

// Claim returns the right to write the agent's history.
func (h Kept) Claim() agent.Claim { return h.kernel.claim(h.id) }

// Holds reports whether the lease in the agent's row is the one that is kept.
func (h Kept) Holds(a agent.Agent) bool {
	h.kernel.mu.Lock()
	defer h.kernel.mu.Unlock()
	lease, kept := h.kernel.keeps[h.id]
	return kept && a.Lease.Owner == h.kernel.Owner && a.Lease.Epoch == lease.Epoch
}

// Release gives the lease back, unless a kill or another process took it.
func (h Kept) Release(ctx context.Context) {
	k := h.kernel
	k.mu.Lock()
	lease, kept := k.keeps[h.id]
	delete(k.keeps, h.id)
	k.mu.Unlock()
	if !kept {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := k.Store.Release(ctx, h.id, k.Owner, lease.Epoch); err != nil && !lost(err) {
		k.owes.Store(true)
	}
}

// shortLease is one that a busy machine cannot be held to: renewing it may take as long as it
// lasts, though nothing is wrong.
const shortLease = 3 * time.Second

// errUnrenewed is the cause of a turn that ends because its lease is about to expire.
var errUnrenewed = sync.OnceValue(func() *fault.Error {
	return fault.New(fault.Interrupted, "its lease could not be renewed, because the store does not answer").
		WithHint("what was done so far is in its history; continue when the store answers")
})

// margin returns the part of a lease that may pass without a renewal.
func (k *Kernel) margin() time.Duration { return k.Lease * 5 / 6 }

// prolong renews the leases, within a third of the time that they last, and notes whether
// that could be done.
func (k *Kernel) prolong(ctx context.Context) ([]agent.Holding, error) {
	if k.Lease >= shortLease {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.Lease/3)
		defer cancel()
	}
	began := k.Now()
	ours, err := k.Store.RenewAll(ctx, k.Owner, k.Lease)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unrenewed = err != nil; err == nil {
		k.renewed = began
	}
	return ours, err
}

// guard stops turns whose leases cannot be renewed before others may take them: what they
// would do from then on could not be written.
func (k *Kernel) guard() {
	if k.Lease < shortLease {
		return
	}
	k.every(k.Pulse/5, func() {
		for _, a := range k.overdue(k.Now()) {
			k.note(a, "the turn is stopped: "+errUnrenewed().Message)
			k.work.Go(func() { k.end(k.ctx, a, errUnrenewed()) })
		}
	})
}

// overdue returns the agents that work under leases which could not be renewed in time. Slowness
// is none of it: the last renewal must have failed.
func (k *Kernel) overdue(now time.Time) []id.Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.unrenewed {
		return nil
	}
	var out []id.Agent
	for _, p := range k.live {
		since := p.leased
		if k.renewed.After(since) {
			since = k.renewed
		}
		if p.lease != nil && p.stop != nil && !p.late && now.Sub(since) >= k.margin() {
			p.late = true
			out = append(out, p.id)
		}
	}
	return out
}

// recorded finds out whether an entry was written whose writing was not answered. The row of
// its agent is locked meanwhile, so a process that was about to write it has done so, or has not.
func (k *Kernel) recorded(ctx context.Context, claim agent.Claim, e history.Entry, until time.Time) (bool, error) {
	owner, epoch, _ := claim.Holder()
	for {
		_, err := k.Store.Renew(ctx, e.Agent, owner, epoch, k.Lease)
		if err == nil {
			var found history.Entry
			if found, err = k.Store.Entry(ctx, e.ID); err == nil || fault.Is(err, fault.NotFound) {
				return err == nil && found.Hash == e.Hash, nil
			}
		}
		if !unreachable(err) || !again(ctx, until) {
			return false, err
		}
	}
}

// unreachable reports whether the store couldn't be reached, or the outcome is unknown.
func unreachable(err error) bool {
	return fault.Is(err, fault.StorageUnreachable) || fault.Is(err, fault.UnknownOutcome)
}

// again waits a little before something is tried once more; false: it is too late for that.
func again(ctx context.Context, until time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(200 * time.Millisecond):
		return time.Now().Before(until)
	}
}

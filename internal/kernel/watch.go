package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

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

// guard stops turns whose leases nobody can renew before others may take them: what they
// would do from then on could not be written.
func (k *Kernel) guard() {
	if k.Lease < shortLease {
		return
	}
	tick := time.NewTicker(k.Pulse / 5)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, a := range k.overdue(k.Now()) {
				k.Events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: "the turn is stopped: " + errUnrenewed().Message})
				k.work.Go(func() { k.end(k.ctx, a, errUnrenewed()) })
			}
		case <-k.ctx.Done():
			return
		}
	}
}

// overdue are the agents that work under leases which could not be renewed in time. Slowness
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
// its agent is locked meanwhile, so whoever was about to write it has done so, or has not.
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

// brokenOff is the error of a turn that could not be written to its end. It is no failure of
// the turn: what was received is in the history, and whoever has the agent next closes it.
func brokenOff(a id.Agent, err error) error {
	return fault.New(fault.Interrupted, "the turn of %s was interrupted: %w", a.Short(), err).
		WithHint("what was done so far is in its history; continue when the store answers")
}

package agent

import (
	"context"
	"time"

	"ramet/internal/fault"
	"ramet/internal/id"
)

// Lease is the right to write an agent's history. The epoch only grows, and
// every write names the epoch under which it was begun, so that a holder that
// slept past its lease cannot write over its successor.
//
// A lease fences the registry, not the outside world: a tool that was started
// before the lease was lost may still be changing files.
type Lease struct {
	Owner string    // who holds it; empty: nobody
	Epoch int64     // raised whenever the right changes hands
	Until time.Time // in the database's time
}

// Live says whether somebody holds the lease at this moment.
func (l Lease) Live(now time.Time) bool { return l.Owner != "" && now.Before(l.Until) }

// Claim is what a write says about its right to write. Make one with Passing,
// or with Held under a lease.
type Claim struct {
	held  bool
	owner string
	epoch int64

	head    id.Message
	hasHead bool
}

// Passing takes the lease for the duration of one verb, inside its
// transaction: refused with LEASED while somebody else's is live.
func Passing() Claim { return Claim{} }

// Held writes under a lease that was acquired before.
func Held(owner string, epoch int64) Claim { return Claim{held: true, owner: owner, epoch: epoch} }

// At adds the demand that the newest own entry is still this one, for writers
// that decided by what they had read.
func (c Claim) At(head id.Message) Claim {
	c.head, c.hasHead = head, true
	return c
}

// Admit decides whether a claim may write to an agent and returns the lease as
// it stands after the verb. Pure: the store calls it with the row locked.
func Admit(a Agent, c Claim, now time.Time) (Lease, error) {
	lease := a.Lease
	switch {
	case c.held && (c.epoch != lease.Epoch || c.owner != lease.Owner):
		return lease, fenced(a, c)
	case !c.held && lease.Live(now):
		return lease, leased(a)
	case !c.held && lease.Owner != "":
		// An expired holder may still be asleep somewhere: shut it out.
		lease = Lease{Epoch: lease.Epoch + 1}
	}
	if c.hasHead && c.head != a.Head {
		return lease, fault.New(fault.Conflict, "agent %s has moved on from message %d to %d meanwhile",
			a.Label(), c.head, a.Head).WithHint("look again and repeat")
	}
	return lease, nil
}

// Grant gives the lease to owner, or refuses with LEASED while another's is
// live. An owner that holds it already keeps its epoch.
func Grant(a Agent, owner string, now time.Time, ttl time.Duration) (Lease, error) {
	if a.Lease.Live(now) && a.Lease.Owner != owner {
		return a.Lease, leased(a)
	}
	next := Lease{Owner: owner, Epoch: a.Lease.Epoch + 1, Until: now.Add(ttl)}
	if a.Lease.Live(now) {
		next.Epoch = a.Lease.Epoch
	}
	return next, nil
}

// Renewed prolongs a lease that is still ours; FENCED if it is not. A lease
// that ran out but was taken by nobody is still ours.
func Renewed(a Agent, owner string, epoch int64, now time.Time, ttl time.Duration) (Lease, error) {
	if a.Lease.Owner != owner || a.Lease.Epoch != epoch {
		return a.Lease, fenced(a, Held(owner, epoch))
	}
	return Lease{Owner: owner, Epoch: epoch, Until: now.Add(ttl)}, nil
}

func leased(a Agent) error {
	return fault.New(fault.Leased, "agent %s is held by %s until %s", a.Label(), a.Lease.Owner,
		a.Lease.Until.UTC().Format(time.RFC3339)).WithHint("use that process, or wait until it ends")
}

func fenced(a Agent, c Claim) error {
	return fault.New(fault.Fenced, "lease %d of %s on agent %s is over: epoch is %d", c.epoch, c.owner, a.Label(),
		a.Lease.Epoch).WithHint("nothing was written; acquire the lease again and read the history anew")
}

// Leases hands out the right to write. Each verb is one transaction in the
// database's time, so that hosts with wrong clocks agree.
type Leases interface {
	// Acquire takes a lease, or prolongs the owner's own. LEASED while
	// another's is live, DEAD_AGENT for the dead.
	Acquire(ctx context.Context, a id.Agent, owner string, ttl time.Duration) (Lease, error)
	// Renew prolongs; FENCED if the lease is no longer this one.
	Renew(ctx context.Context, a id.Agent, owner string, epoch int64, ttl time.Duration) (Lease, error)
	// Release gives it back. Giving back a lost lease is no error.
	Release(ctx context.Context, a id.Agent, owner string, epoch int64) error
}

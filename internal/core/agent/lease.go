package agent

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// Lease is the right to write an agent's history. The epoch only grows, and
// every write names the epoch under which it was begun, so that a holder that
// slept past its lease cannot write over its successor.
//
// A lease fences the registry, not the outside world: a tool that was started
// before the lease was lost may still be changing files.
type Lease struct {
	Owner string    // the process that holds it; empty: none
	Epoch int64     // raised whenever the right changes hands
	Until time.Time // in the database's time
}

// Live reports whether a process holds the lease at this moment.
func (l Lease) Live(now time.Time) bool { return l.Owner != "" && now.Before(l.Until) }

// Claim describes what a write says about its right to write. Make one with Passing,
// or with Held under a lease.
type Claim struct {
	held   bool
	beside bool
	owner  string
	epoch  int64

	head    id.Message
	hasHead bool
}

// Passing takes the lease for the duration of one verb, inside its
// transaction: refused with LEASED while another owner's is live.
func Passing() Claim { return Claim{} }

// Held writes under a lease that was acquired before.
func Held(owner string, epoch int64) Claim { return Claim{held: true, owner: owner, epoch: epoch} }

// Beside writes regardless of which process holds the lease, and leaves the lease as it is. It is for entries that the
// holder does not decide by what it has read: forks, letters that were sent, orders of a person. The row is locked while
// they are written.
func Beside() Claim { return Claim{beside: true} }

// IsBeside reports whether a claim needs no lease.
func (c Claim) IsBeside() bool { return c.beside }

// At adds the demand that the newest own entry is still this one, for writers
// that decided by what they had read.
func (c Claim) At(head id.Message) Claim {
	c.head, c.hasHead = head, true
	return c
}

// Holder tells under which lease a claim writes; held is false for Passing.
func (c Claim) Holder() (owner string, epoch int64, held bool) { return c.owner, c.epoch, c.held }

// Head tells which newest own entry a claim demands, if it demands one.
func (c Claim) Head() (head id.Message, ok bool) { return c.head, c.hasHead }

// Admit decides whether a claim may write to an agent and returns the lease as
// it stands after the verb. Pure: the store calls it with the row locked.
func Admit(a Agent, c Claim, now time.Time) (Lease, error) {
	lease := a.Lease
	switch {
	case c.held && (c.epoch != lease.Epoch || c.owner != lease.Owner):
		return lease, refuseFenced(a, c)
	case c.beside: // the lease stays whose it is
	case !c.held && lease.Live(now):
		return lease, refuseLeased(a)
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
		return a.Lease, refuseLeased(a)
	}
	next := Lease{Owner: owner, Epoch: a.Lease.Epoch + 1, Until: now.Add(ttl)}
	if a.Lease.Live(now) {
		next.Epoch = a.Lease.Epoch
	}
	return next, nil
}

// Renewed prolongs a lease that is still ours; FENCED if it is not. A lease
// that ran out but was taken by no process is still ours.
func Renewed(a Agent, owner string, epoch int64, now time.Time, ttl time.Duration) (Lease, error) {
	if a.Lease.Owner != owner || a.Lease.Epoch != epoch {
		return a.Lease, refuseFenced(a, Held(owner, epoch))
	}
	return Lease{Owner: owner, Epoch: epoch, Until: now.Add(ttl)}, nil
}

// Seized takes the lease from a holder that is known to be dead, though the
// lease may be live: only if it is still that holder's, of that epoch; else
// CONFLICT. The epoch is raised, in case the dead was only believed to be.
func Seized(a Agent, from Lease, owner string, now time.Time, ttl time.Duration) (Lease, error) {
	if from.Owner == "" || a.Lease.Owner != from.Owner || a.Lease.Epoch != from.Epoch {
		return a.Lease, fault.New(fault.Conflict, "lease %d of %q on agent %s cannot be taken: the lease is number %d of %q",
			from.Epoch, from.Owner, a.Label(), a.Lease.Epoch, a.Lease.Owner).WithHint("look again who holds it")
	}
	return Lease{Owner: owner, Epoch: from.Epoch + 1, Until: now.Add(ttl)}, nil
}

// OwnerGone reports whether the owner of a lease is gone: the lease was given back, it ran out in the database's
// time, or dead knows that the process of that name ended. It is the only function that concludes so, for
// agents, runs (the lease of their own agent, and that of their desk) and hosts. A lock that happens to be
// free, a connection that was lost or a process that does not answer prove nothing.
func OwnerGone(l Lease, now time.Time, dead func(owner string) bool) bool {
	return !l.Live(now) || dead(l.Owner)
}

// CannotKnow returns the dead of OwnerGone where processes of other hosts are judged: only their leases tell.
func CannotKnow(string) bool { return false }

// OwnersGone returns OwnerGone for one look at many leases. It asks dead, which has to ask the system, once
// for each owner: a kernel holds hundreds.
func OwnersGone(now time.Time, dead func(owner string) bool) func(Lease) bool {
	known := map[string]bool{}
	return func(l Lease) bool {
		return OwnerGone(l, now, func(owner string) bool {
			gone, asked := known[owner]
			if !asked {
				gone = dead(owner)
				known[owner] = gone
			}
			return gone
		})
	}
}

// FindHolder reads the lease of an agent as it is now, and reports whether its owner holds it, that is, is not gone.
// A lease that ran out, or whose owner is dead, is returned too: it can be seized.
func FindHolder(ctx context.Context, l Leases, a id.Agent, dead func(owner string) bool) (lease Lease, holds bool, err error) {
	leased, now, err := l.Leased(ctx)
	for _, row := range leased {
		if row.ID == a {
			return row.Lease, !OwnerGone(row.Lease, now, dead), err
		}
	}
	return Lease{}, false, err
}

func refuseLeased(a Agent) error {
	return fault.New(fault.Leased, "agent %s is held by %s until %s", a.Label(), a.Lease.Owner,
		a.Lease.Until.UTC().Format(time.RFC3339)).WithHint("use that process, or wait until it ends")
}

func refuseFenced(a Agent, c Claim) error {
	return fault.New(fault.Fenced, "lease %d of %s on agent %s is over: epoch is %d", c.epoch, c.owner, a.Label(),
		a.Lease.Epoch).WithHint("nothing was written; acquire the lease again and read the history again")
}

// Holding is a lease as its owner remembers it.
type Holding struct {
	Agent id.Agent
	Epoch int64
}

// Leases hands out the right to write. Each verb is one transaction in the
// database's time, so that hosts with wrong clocks agree.
type Leases interface {
	// Acquire takes a lease, or prolongs the owner's own, and gives the agent as
	// it is then. LEASED while another's is live, DEAD_AGENT for the dead.
	Acquire(ctx context.Context, a id.Agent, owner string, ttl time.Duration) (Agent, error)
	// Renew prolongs; FENCED if the lease is no longer this one.
	Renew(ctx context.Context, a id.Agent, owner string, epoch int64, ttl time.Duration) (Lease, error)
	// Release gives it back. Giving back a lost lease is no error.
	Release(ctx context.Context, a id.Agent, owner string, epoch int64) error
	// RenewAll prolongs every lease that owner has, also one that ran out and
	// was taken by no process, in one transaction. It returns what owner holds now,
	// in no order: what is missing was lost to a kill or to another owner.
	RenewAll(ctx context.Context, owner string, ttl time.Duration) ([]Holding, error)
	// Leased lists the running agents whose lease has an owner, live or run
	// out, in creation order, and the database's time. Its cost is that of the
	// agents it lists.
	Leased(ctx context.Context) ([]Agent, time.Time, error)
	// Seize takes a lease away from a holder that is known to be dead, live or
	// not. CONFLICT unless owner and epoch are still those of from, DEAD_AGENT
	// for the dead.
	Seize(ctx context.Context, a id.Agent, from Lease, owner string, ttl time.Duration) (Lease, error)
}

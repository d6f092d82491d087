package control

import (
	"context"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Through carries out a verb here or, where a kernel holds the agent, there. The
// lease may change hands between the two: then it begins anew. A holder that cannot
// be asked is LEASED.
func (p Folder) Through(ctx context.Context, d agent.Directory, a id.Agent, here func() error, there func(*Client) error) error {
	var asked string // who could not be, before
	var refused error
	waited := false
	for {
		err := here()
		if !fault.Is(err, fault.Leased) {
			return err
		}
		now, err := d.Agent(ctx, a)
		if err != nil {
			return err
		}
		holder := now.Lease.Owner
		switch holder {
		case "": // it was given back meanwhile
			continue
		case asked:
			if waited || !p.leaves(ctx, d, a, holder) {
				return refused
			}
			waited = true
			continue
		}
		kernel, err := p.Dial(ctx, holder)
		if err == nil {
			err = there(kernel)
		}
		if !fault.Is(err, fault.Leased) {
			return err
		}
		asked, refused = holder, err
	}
}

// leaves waits a moment for a holder that cannot be asked, and says whether it has
// given the agent up or is gone: one that is about to end answers no more.
func (p Folder) leaves(ctx context.Context, d agent.Directory, a id.Agent, holder string) bool {
	for range 20 {
		now, err := d.Agent(ctx, a)
		if err != nil || now.Lease.Owner != holder || p.Gone(holder) {
			return err == nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// Reap lets the kernels of this machine, but one, end what they run of the dead.
// Nothing of them may run when it returns without an error. held are those whom a
// kernel held before: what nobody held, nobody runs.
func (p Folder) Reap(ctx context.Context, but string, held map[id.Agent]string, rings ...registry.Ring) error {
	silent := p.tell(ctx, but, rings...)
	for _, r := range rings {
		owner := held[r.Agent]
		instance, near := p.instance(owner)
		if owner != "" && owner != but && (!near || slices.Contains(silent, instance)) && len(silent) > 0 && !p.Gone(owner) {
			return fault.New(fault.Leased, "agent %s is dead, but %s, which ran it, does not answer: its commands may still run", r.Agent.Short(), owner).
				WithHint("let that process go on, or end it; what it runs for the dead ends with it")
		}
	}
	return nil
}

// Deaths are the news of a kill for kernels: also of one that died before, whose
// killer may not have come to tell.
func Deaths(k registry.Killed) []registry.Ring {
	out := []registry.Ring{{Agent: k.Agent.ID, What: registry.RingKilled}}
	for _, v := range k.Victims {
		if v.ID != k.Agent.ID {
			out = append(out, registry.Ring{Agent: v.ID, What: registry.RingKilled})
		}
	}
	return out
}

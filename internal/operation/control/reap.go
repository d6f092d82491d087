package control

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
)

// Held returns the owners of the agents that are held now.
func Held(ctx context.Context, l agent.Leases) (map[id.Agent]string, error) {
	leased, now, err := l.Leased(ctx)
	if err != nil {
		return nil, err
	}
	out := map[id.Agent]string{}
	for _, a := range leased {
		if a.Lease.Live(now) {
			out[a.ID] = a.Lease.Owner
		}
	}
	return out, nil
}

// Reap lets the kernels of this machine, but one, end what they run of the dead. Nothing of the dead runs when it returns
// without an error. held has the agents that a kernel held before: no other agent had anything running.
func (p Folder) Reap(ctx context.Context, but string, held map[id.Agent]string, rings ...registry.Ring) error {
	silent := p.tell(ctx, but, rings...)
	for _, r := range rings {
		owner := held[r.Agent]
		instance, near := p.instance(owner)
		if owner != "" && owner != but && (!near || slices.Contains(silent, instance)) && len(silent) > 0 && !p.Gone(owner) {
			return fault.New(fault.Leased, "agent %s is dead, but %s, which ran it, does not answer: its commands may still run", r.Agent.Short(), owner).
				WithHint("let that process continue, or end it; what it runs for dead agents ends with it")
		}
	}
	return nil
}

// Deaths returns what kernels are told of a kill: also of an agent that died before, if its killer did not come to tell.
func Deaths(k registry.Killed) []registry.Ring {
	out := []registry.Ring{{Agent: k.Agent.ID, What: registry.RingKilled}}
	for _, v := range k.Victims {
		if v.ID != k.Agent.ID {
			out = append(out, registry.Ring{Agent: v.ID, What: registry.RingKilled})
		}
	}
	return out
}

package control

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/id"
)

// What an agent does, as anybody can tell from its lease.
const (
	Working     = "working"     // a kernel holds it
	Interrupted = "interrupted" // that kernel ended in the middle of a turn
)

// Census lists agents as a tree: the living, or all. Children of the dead hang under
// their nearest living ancestor. brief reads only what a tree shows (agent.Filter).
func Census(ctx context.Context, d agent.Directory, all, brief bool) ([]agent.Node, error) {
	list, err := d.Agents(ctx, agent.Filter{Dead: all, Brief: brief})
	if err != nil {
		return nil, err
	}
	if !all && orphaned(list) {
		// Only then the dead are needed, to find the way up through them.
		dead, err := d.Agents(ctx, agent.Filter{OnlyDead: true, Brief: true})
		if err != nil {
			return nil, err
		}
		list = append(list, dead...)
	}
	return agent.Tree(list, func(a agent.Agent) bool { return all || a.Status == agent.Running }), nil
}

func orphaned(living []agent.Agent) bool {
	known := make(map[id.Agent]bool, len(living))
	for _, a := range living {
		known[a.ID] = true
	}
	for _, a := range living {
		if !a.IsZero() && !known[a.Parent] {
			return true
		}
	}
	return false
}

// Busy says what agents do that a kernel holds, or held when it ended.
func (p Place) Busy(ctx context.Context, l agent.Leases) (map[id.Agent]string, error) {
	leased, now, err := l.Leased(ctx)
	if err != nil || len(leased) == 0 {
		return nil, err
	}
	out := make(map[id.Agent]string, len(leased))
	for _, a := range leased {
		out[a.ID] = Working
		if !a.Lease.Live(now) || p.Gone(a.Lease.Owner) {
			out[a.ID] = Interrupted
		}
	}
	return out, nil
}

// Held is who holds which agents now.
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

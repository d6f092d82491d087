package session

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/id"
)

// List lists agents as a tree: the living, or all. Children of the dead hang under their
// nearest living ancestor. brief reads only what a tree shows (agent.Filter).
func (w *Workspace) List(ctx context.Context, all, brief bool) ([]agent.Node, error) {
	list, err := w.Store.Agents(ctx, agent.Filter{Dead: all, Brief: brief})
	if err != nil {
		return nil, err
	}
	if !all && orphaned(list) {
		// Only then the dead are needed, to find the way up through them.
		dead, err := w.Store.Agents(ctx, agent.Filter{OnlyDead: true, Brief: true})
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

package session

import (
	"context"
	"slices"

	"ramet/internal/core/agent"
)

// List lists agents as a tree: the living, or all. Children of the dead hang under their
// nearest living ancestor. brief reads only what a tree shows (agent.Filter).
func (w Agents) List(ctx context.Context, all, brief bool) ([]agent.Node, error) {
	list, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: all, Brief: brief})
	if err != nil {
		return nil, err
	}
	show := func(a *agent.Agent) bool { return all || a.Status == agent.Running }
	nodes := agent.Tree(list, show)
	if all || !orphaned(nodes) {
		return nodes, nil
	}
	// Only then the dead are needed, to find the way up through them.
	dead, err := w.ws.Store.Agents(ctx, agent.Filter{OnlyDead: true, Brief: true})
	if err != nil {
		return nil, err
	}
	return agent.Tree(append(list, dead...), show), nil
}

// orphaned reports whether the parent of an agent is not in the tree.
func orphaned(nodes []agent.Node) bool {
	return slices.ContainsFunc(nodes, func(n agent.Node) bool { return n.Home == "" && !n.IsZero() })
}

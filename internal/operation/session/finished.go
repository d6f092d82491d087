package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// KillFinished ends the agents that are done or have failed, and below which nobody has
// anything left to do. They stay what they were; nothing is asked.
func (w Agents) KillFinished(ctx context.Context) ([]agent.Agent, error) {
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		return nil, err
	}
	now, err := w.States(ctx, false)
	if err != nil {
		return nil, err
	}
	var ended []agent.Agent
	gone, whole := map[id.Agent]bool{}, true
	for _, a := range listFinished(all, now) {
		if gone[a.ID] {
			continue
		}
		done, err := w.Kill(ctx, Kill{Agent: a, Cascade: &whole, Reason: state.Over})
		if err != nil {
			return ended, err
		}
		for _, v := range done.Victims {
			gone[v.ID] = true
			ended = append(ended, v)
		}
	}
	return ended, nil
}

// listFinished returns the agents that are finished and have none at work or interrupted in their subtree; parents come
// before children.
func listFinished(all []agent.Agent, now state.Now) []agent.Agent {
	open := map[id.Agent]bool{} // it, or somebody below it, may go on
	parent := map[id.Agent]id.Agent{}
	for _, a := range all {
		parent[a.ID] = a.Parent
		if s := now.Of(a); a.Status == agent.Running && !s.Finished() && s.Word != state.Idle {
			for up := a.ID; up != "" && !open[up]; up = parent[up] {
				open[up] = true
			}
		}
	}
	var out []agent.Agent
	for _, a := range all {
		if a.Status == agent.Running && !a.IsZero() && !open[a.ID] && now.Of(a).Finished() {
			out = append(out, a)
		}
	}
	return out
}

package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// AgentList is all agents at one moment.
type AgentList struct {
	All    []agent.Agent // the living and the dead, in the order of creation
	States map[id.Agent]state.State
}

// Everybody lists all agents, and what they do.
func (w Agents) Everybody(ctx context.Context) (AgentList, error) {
	all, err := w.ws.dead.join(ctx, w.ws.Store)
	if err != nil {
		return AgentList{}, err
	}
	now, err := w.sources().Again(ctx, all, &w.ws.ends)
	if err != nil {
		return AgentList{}, err
	}
	c := AgentList{All: all, States: make(map[id.Agent]state.State, len(all))}
	for _, a := range all {
		c.States[a.ID] = now.Of(a)
	}
	return c, nil
}

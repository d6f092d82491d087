package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// Agents is everybody at one moment.
type Agents struct {
	All    []agent.Agent // the living and the dead, in the order of creation
	States map[id.Agent]state.State
}

// Everybody lists all agents, and what they do.
func (w *Workspace) Everybody(ctx context.Context) (Agents, error) {
	all, err := w.dead.join(ctx, w.Store)
	if err != nil {
		return Agents{}, err
	}
	now, err := w.sources().Again(ctx, all, &w.ends)
	if err != nil {
		return Agents{}, err
	}
	c := Agents{All: all, States: make(map[id.Agent]state.State, len(all))}
	for _, a := range all {
		c.States[a.ID] = now.Of(a)
	}
	return c, nil
}

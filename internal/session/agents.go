package session

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/state"
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

// dead remembers the dead: they do not change, so they are read only when somebody is
// missing among the living.
type dead struct {
	mu     sync.Mutex
	read   bool
	dead   []agent.Agent
	living map[id.Agent]bool
}

// join is everybody, in the order of creation.
func (d *dead) join(ctx context.Context, all agent.Directory) ([]agent.Agent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := all.Agents(ctx, agent.Filter{})
	if err != nil {
		return nil, err
	}
	alive := make(map[id.Agent]bool, len(now))
	for _, a := range now {
		alive[a.ID] = true
	}
	missing := !d.read
	for a := range d.living {
		missing = missing || !alive[a]
	}
	if missing {
		if d.dead, err = all.Agents(ctx, agent.Filter{OnlyDead: true}); err != nil {
			return nil, err
		}
	}
	d.read, d.living = true, alive
	list := slices.Concat(now, d.dead)
	if len(d.dead) > 0 {
		slices.SortStableFunc(list, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	}
	return list, nil
}

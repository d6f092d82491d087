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

// Crowd is everybody at one moment.
type Crowd struct {
	Agents []agent.Agent // the living and the dead, in the order of creation
	States map[id.Agent]state.State
}

// Everybody lists all agents, and what they do.
func (w *Workspace) Everybody(ctx context.Context) (Crowd, error) {
	all, fresh, err := w.dead.join(ctx, w.Store)
	if err != nil {
		return Crowd{}, err
	}
	now, err := w.States(ctx, fresh)
	if err != nil {
		return Crowd{}, err
	}
	c := Crowd{Agents: all, States: make(map[id.Agent]state.State, len(all))}
	w.dead.mu.Lock()
	defer w.dead.mu.Unlock()
	if fresh || w.dead.ends == nil {
		w.dead.ends = map[id.Agent]state.State{}
	}
	for _, a := range all {
		if a.Status == agent.Running {
			c.States[a.ID] = now.Of(a)
			continue
		}
		end, known := w.dead.ends[a.ID]
		if !known {
			end = now.Of(a)
			w.dead.ends[a.ID] = end
		}
		c.States[a.ID] = end
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
	ends   map[id.Agent]state.State // how they ended
}

// join is everybody, in the order of creation; fresh says that the dead were read anew.
func (d *dead) join(ctx context.Context, all agent.Directory) (list []agent.Agent, fresh bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := all.Agents(ctx, agent.Filter{})
	if err != nil {
		return nil, false, err
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
			return nil, false, err
		}
	}
	d.read, d.living = true, alive
	list = slices.Concat(now, d.dead)
	if len(d.dead) > 0 {
		slices.SortStableFunc(list, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	}
	return list, missing, nil
}

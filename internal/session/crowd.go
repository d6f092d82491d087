package session

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/id"
)

// Crowd is everybody at one moment.
type Crowd struct {
	Agents []agent.Agent // the living and the dead, in the order of creation
	// Doing is what agents do that a kernel holds: a word or two.
	Doing map[id.Agent]string
	// Interrupted are those that a crash ended in the middle of a turn.
	Interrupted map[id.Agent]bool
}

// Everybody lists all agents, and what they do.
func (w *Workspace) Everybody(ctx context.Context) (Crowd, error) {
	all, err := w.dead.join(ctx, w.Store)
	if err != nil {
		return Crowd{}, err
	}
	leased, now, err := w.Store.Leased(ctx)
	if err != nil {
		return Crowd{}, err
	}
	c := Crowd{Agents: all, Doing: map[id.Agent]string{}, Interrupted: map[id.Agent]bool{}}
	for _, a := range leased {
		switch {
		case a.Lease.Owner == w.owner():
			c.Doing[a.ID] = w.Kernel.Doing(a.ID)
		case a.Lease.Live(now) && !w.Peers.Gone(a.Lease.Owner):
			c.Doing[a.ID] = "works elsewhere"
		}
	}
	for a := range w.abandoned {
		c.Interrupted[a] = true
	}
	return c, nil
}

// Abandoned looks for the agents whose kernels ended in the middle of a turn. That is known
// only before a kernel tidies up; Everybody tells it afterwards.
func (w *Workspace) Abandoned(ctx context.Context) error {
	leased, now, err := w.Store.Leased(ctx)
	w.abandoned = map[id.Agent]bool{}
	for _, a := range leased {
		if !a.Lease.Live(now) || w.Peers.Gone(a.Lease.Owner) {
			w.abandoned[a.ID] = true
		}
	}
	return err
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

package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/cli"
	"ramet/internal/id"
)

// graveyard remembers the dead: they do not change, so they are read only when
// somebody is missing among the living.
type graveyard struct {
	mu     sync.Mutex
	read   bool
	dead   []agent.Agent
	living map[id.Agent]bool
}

// join is everybody, in the order of creation.
func (g *graveyard) join(ctx context.Context, ws cli.Workspace) ([]agent.Agent, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, err := ws.Agents(ctx, agent.Filter{})
	if err != nil {
		return nil, err
	}
	alive := make(map[id.Agent]bool, len(now))
	for _, a := range now {
		alive[a.ID] = true
	}
	missing := !g.read
	for a := range g.living {
		missing = missing || !alive[a]
	}
	if missing {
		if g.dead, err = ws.Agents(ctx, agent.Filter{OnlyDead: true}); err != nil {
			return nil, err
		}
	}
	g.read, g.living = true, alive
	all := slices.Concat(now, g.dead)
	if len(g.dead) > 0 {
		slices.SortStableFunc(all, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	}
	return all, nil
}

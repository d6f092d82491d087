package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// States finds out what agents do: the living agents, or all, or the named ones. It says the
// same in every process (package state).
func (w Agents) States(ctx context.Context, all bool, only ...id.Agent) (state.Now, error) {
	return w.sources().Look(ctx, all, only...)
}

// few is up to how many histories are looked at one by one.
const few = 256

// StatesAmong is States for agents whose rows were just read. Where few of them can have something to tell, since
// the others said nothing since their birth, the rows of all are not read again.
func (w Agents) StatesAmong(ctx context.Context, all bool, nodes []agent.Node) (state.Now, error) {
	var telling []id.Agent
	for _, n := range nodes {
		if n.Head == 0 { // it was read in brief
			return w.States(ctx, all)
		}
		if n.Status == agent.Running && n.Head == n.Genesis && len(telling) > 0 {
			continue // the first stays: nobody named is everybody
		}
		if telling = append(telling, n.ID); len(telling) > few {
			return w.States(ctx, all)
		}
	}
	return w.States(ctx, all, telling...)
}

// State returns the state of one agent.
func (w Agents) State(ctx context.Context, a agent.Agent) (state.State, error) {
	now, err := w.States(ctx, false, a.ID)
	return now.Of(a), err
}

func (w Agents) sources() state.Sources {
	if w.ws.Kernel != nil {
		s := w.ws.Kernel.Sources()
		s.There, s.Kernels = w.ws.Peers.States, w.ws.Peers.Kernels
		return s
	}
	return state.Sources{Store: w.ws.Store, Gone: w.ws.Peers.Gone, There: w.ws.Peers.States, Kernels: w.ws.Peers.Kernels}
}

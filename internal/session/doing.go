package session

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/state"
)

// States finds out what agents do: the living agents, or all, or the named ones. It says the
// same in every process (package state).
func (w *Workspace) States(ctx context.Context, all bool, only ...id.Agent) (state.Now, error) {
	return w.sources().Look(ctx, all, only...)
}

// State is what one agent does.
func (w *Workspace) State(ctx context.Context, a agent.Agent) (state.State, error) {
	now, err := w.States(ctx, false, a.ID)
	return now.Of(a), err
}

func (w *Workspace) sources() state.Sources {
	if w.Kernel != nil {
		s := w.Kernel.Sources()
		s.There, s.Kernels = w.Peers.States, w.Peers.Kernels
		return s
	}
	return state.Sources{Store: w.Store, Gone: w.Peers.Gone, There: w.Peers.States, Kernels: w.Peers.Kernels}
}

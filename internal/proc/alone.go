package proc

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/history"
)

// alone says whether an agent works on a task of its own: a tool forked it, and it knows
// nothing but its prompt. One that was made by a definition has the tools that this gives it.
func (k *Kernel) alone(ctx context.Context, a agent.Agent) (bool, error) {
	if a.IsZero() {
		return false, nil
	}
	wall := false
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a.ID}, history.Selection{}) {
		if err != nil {
			return false, err
		}
		switch e.Kind {
		case history.Clear:
			wall = true
		case history.System:
			return false, nil
		case history.User:
			m, err := e.Decode()
			return wall && m.Then != "", err
		}
	}
	return false, nil
}

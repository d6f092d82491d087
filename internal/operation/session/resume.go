package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/ledger"
)

// Resume makes the agent that goes on for an interrupted task: a child of the old
// one, forked where it stopped. The ledger has it before it exists, and refuses what
// is not interrupted.
func (w Agents) Resume(ctx context.Context, old agent.Agent) (agent.Agent, error) {
	child := id.NewAgent()
	start := ledger.Start{ID: string(child), Type: "agent", Group: old.Label(), Owner: ledger.SelfOwner()}
	if _, err := w.ws.Book.Resume(ctx, string(old.ID), start); err != nil {
		return agent.Agent{}, err
	}
	born, err := w.fork(ctx, old.ID, registry.Child{ID: child}, "")
	if err != nil {
		// It was never born; the ledger must not wait for it.
		if _, lerr := w.ws.Book.Finish(context.WithoutCancel(ctx), string(child), ledger.Failed, "it could not be forked"); lerr != nil {
			return agent.Agent{}, lerr
		}
		return agent.Agent{}, err
	}
	return born, nil
}

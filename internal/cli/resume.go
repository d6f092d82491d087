package cli

import (
	"context"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/ledger"
	"ramet/internal/ledger/file"
	"ramet/internal/registry"
)

// resume makes the agent that goes on for an interrupted task: a child of the old
// one, forked where it stopped. The ledger has it before it exists, and refuses what
// is not interrupted.
func (s *session) resume(ctx context.Context, ws Workspace, old agent.Agent) (agent.Agent, error) {
	place, err := s.place()
	if err != nil {
		return agent.Agent{}, err
	}
	tasks, child := s.tasks(place.Project), id.NewAgent()
	start := ledger.Start{ID: string(child), Type: "agent", Group: old.Label(), Owner: file.Self()}
	if _, err := tasks.Resume(ctx, string(old.ID), start); err != nil {
		return agent.Agent{}, err
	}
	fork := registry.Fork{Parent: old.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: child}}}
	born, err := s.forkThrough(ctx, ws, old, fork)
	if err != nil {
		// It was never born; the ledger must not wait for it.
		if _, lerr := tasks.Finish(context.WithoutCancel(ctx), string(child), ledger.Failed, "it could not be forked"); lerr != nil {
			return agent.Agent{}, lerr
		}
		return agent.Agent{}, err
	}
	return born[0], nil
}

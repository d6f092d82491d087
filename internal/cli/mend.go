package cli

import (
	"context"

	"ramet/internal/agent"
)

// findToWrite is find, for a verb that writes an agent's history.
func (s *session) findToWrite(ctx context.Context, ref string) (Workspace, agent.Agent, error) {
	ws, a, err := s.find(ctx, ref)
	if err != nil {
		return ws, a, err
	}
	return ws, a, s.mend(ctx, ws, a)
}

// mend closes what a kernel that died left open in an agent's history, before
// anything else is written there: what it showed of a reply would be lost. And
// nobody need wait for the lease of the dead to run out.
func (s *session) mend(ctx context.Context, ws Workspace, a agent.Agent) error {
	if a.Lease.Owner == "" || a.Status != agent.Running {
		return nil
	}
	place, err := s.meeting()
	if err != nil {
		return err
	}
	_, now, err := ws.Leased(ctx)
	if err != nil || a.Lease.Live(now) && !place.Gone(a.Lease.Owner) {
		return err
	}
	k, err := s.kernel(ctx, KernelRequest{NoTools: true}) // which does so when it starts
	if err != nil {
		return err
	}
	k.Close()
	return nil
}

package rundir

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Status is the status of a run in one word, on every face.
type Status string

// The statuses.
const (
	Running   Status = "running"   // somebody carries it out
	Stopped   Status = "stopped"   // nobody does, and it is not over: a resume goes on
	Done      Status = "done"      //
	Failed    Status = "failed"    // reopened with --from-failed
	Cancelled Status = "cancelled" //
	Kept      Status = "kept"      // the log of another program, which carries out itself what it says
)

// Standing is how a run stands: its state says how far it came, this what becomes of it.
type Standing struct {
	Status Status
	Reason string // why it failed or stopped, CODE: message; empty: nobody knows
}

// Standing finds out how a run stands that came to a state. It is running if it cannot be opened for
// appending because a process carries it out.
func (s *Store) Standing(ctx context.Context, n run.Snapshot) Standing {
	switch n.RunState {
	case run.Done:
		return Standing{Status: Done}
	case run.Cancelled:
		return Standing{Status: Cancelled}
	case run.Failed:
		if n.Failure != nil {
			return Standing{Failed, n.Failure.Code + ": " + n.Failure.Message}
		}
		return Standing{Status: Failed}
	}
	x, err := s.OpenSession(ctx, n.RunID, "")
	if fault.Is(err, fault.Locked) {
		return Standing{Status: Running}
	}
	if err == nil {
		x.Close() // nothing was written
	}
	if _, err := s.Config(n.RunID); err != nil {
		return Standing{Status: Kept}
	}
	out := Standing{Status: Stopped}
	for _, item := range run.LatestAttempts(n.WorkItems) {
		if item.Status == run.ItemFailed && item.Error != nil {
			out.Reason = item.Error.Code + ": " + item.Error.Message
		}
	}
	return out
}

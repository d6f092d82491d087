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
	Running   Status = "running"   // a process carries it out
	Stopped   Status = "stopped"   // no process does, and it is not over: a resume continues it
	Done      Status = "done"      //
	Failed    Status = "failed"    // reopened with --from-failed
	Cancelled Status = "cancelled" //
	Kept      Status = "kept"      // the log of another program, which carries out itself what it says
)

// RunStatus is the status of a run, in addition to its state.
type RunStatus struct {
	Status Status
	Reason string // why it failed or stopped, CODE: message; empty: unknown
}

// StatusOf finds the status of a run from its snapshot. It is running if it cannot be opened for
// appending because a process carries it out.
func (s *Store) StatusOf(ctx context.Context, n run.Snapshot) RunStatus {
	switch n.RunState {
	case run.Done:
		return RunStatus{Status: Done}
	case run.Cancelled:
		return RunStatus{Status: Cancelled}
	case run.Failed:
		if n.Failure != nil {
			return RunStatus{Failed, n.Failure.Code + ": " + n.Failure.Message}
		}
		return RunStatus{Status: Failed}
	}
	x, err := s.OpenSession(ctx, n.RunID, "")
	if fault.Is(err, fault.Locked) {
		return RunStatus{Status: Running}
	}
	if err == nil {
		x.Close() // nothing was written
	}
	if _, err := s.Config(n.RunID); err != nil {
		return RunStatus{Status: Kept}
	}
	out := RunStatus{Status: Stopped}
	for _, item := range run.LatestAttempts(n.WorkItems) {
		if item.Status == run.ItemFailed && item.Error != nil {
			out.Reason = item.Error.Code + ": " + item.Error.Message
		}
	}
	return out
}

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
	if s.isCarriedOut(ctx, n.RunID) {
		return RunStatus{Status: Running}
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

// isCarriedOut reports whether a process holds the lock of a run's log, or lives and lost it.
func (s *Store) isCarriedOut(ctx context.Context, runID string) bool {
	kind, err := s.kind(runID, "")
	if err != nil {
		return false
	}
	if err := s.needOrphan(ctx, runID, kind); err != nil {
		return fault.Is(err, fault.Locked)
	}
	w, _, err := s.Logs.OpenWriter(ctx, kind, s.Dir(runID), runID)
	if err == nil {
		w.Close() // nothing was written
	}
	return fault.Is(err, fault.Locked)
}

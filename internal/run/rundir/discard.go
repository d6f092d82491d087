package rundir

import (
	"context"
	"errors"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// Remover takes logs away that do not lie in the folder of their run. Logs that are kept
// elsewhere have it.
type Remover interface {
	Remove(ctx context.Context, kind Kind, runID string) error
}

// Remove takes a run away for good: its folder, with all that it made, and its log. LOCKED:
// somebody carries it out. CONFLICT: another run continues it. ILLEGAL_TRANSITION: it is not
// over, and nobody said that this does not matter.
func (s *Store) Remove(ctx context.Context, runID string, anyway bool) error {
	x, err := s.OpenSession(ctx, runID, "")
	if err != nil && (!anyway || fault.Is(err, fault.Locked) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidID)) {
		return err
	}
	if x != nil {
		defer x.Close()
		if state := x.Came(); !state.Terminal() && !anyway {
			return fault.New(fault.IllegalTransition, "run %s is %s: it could go on", runID, state).
				WithHint("cancel it first (`ramet run cancel %s`), or remove it all the same with --force", runID)
		}
	}
	if child, err := s.continues(ctx, runID); err != nil || child != "" {
		return errors.Join(err, continuedConflict(runID, child))
	}
	kind, err := s.kind(runID, "")
	if err == nil && kind.Remote() {
		remover, ok := s.Logs.(Remover)
		if !ok {
			return fault.New(fault.Failed, "the log of run %s is in a server, where it cannot be removed from here", runID)
		}
		if err := remover.Remove(ctx, kind, runID); err != nil {
			return err
		}
	}
	// Under another name first: what is half removed is no run.
	gone := filepath.Join(s.Root, ".gone-"+runID)
	if err := step.RemoveAll(gone); err != nil {
		return durable.Failure("remove", gone, err)
	}
	if err := step.Rename(s.Dir(runID), gone); err != nil {
		return durable.Failure("remove", s.Dir(runID), err)
	}
	if err := durable.SyncFolder(s.Root); err != nil {
		return err
	}
	return durable.Failure("remove", gone, step.RemoveAll(gone))
}

func continuedConflict(runID, child string) error {
	if child == "" {
		return nil
	}
	return fault.New(fault.Conflict, "run %s continues run %s and shares its events", child, runID).
		WithHint("remove that one first; nothing was removed")
}

// continues is a run that continues another; empty: none does.
func (s *Store) continues(ctx context.Context, runID string) (string, error) {
	ids, err := s.List()
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if id == runID {
			continue
		}
		r, err := s.Open(ctx, id, "")
		if err != nil {
			continue // whatever it is, it cannot be read
		}
		forked := r.fork != (run.Fork{}) && r.fork.ParentRunID == runID
		if err := r.Close(); err != nil {
			return "", err
		}
		if forked {
			return id, nil
		}
	}
	return "", nil
}

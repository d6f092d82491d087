package session

import (
	"context"
	"strings"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/registry"
	"ramet/internal/run"
	"ramet/internal/state"
	"ramet/internal/store"
)

// EndRun ends a run's own agent, with everything below it. It ends itself, as its run is
// over or nobody carries it out; its history says how that came.
func EndRun(ctx context.Context, s *store.Cleaned, own id.Agent, runID string, now run.State, failure error) error {
	a, err := s.Agent(ctx, own)
	if err != nil || a.Status == agent.Dead {
		return err // it was cancelled
	}
	why := "run " + runID + " is " + string(now)
	switch {
	case now == run.Done || now == run.Cancelled:
	case failure != nil:
		err = tell(ctx, s, own, state.Why(failure))
	case now == run.Failed:
		err = tell(ctx, s, own, string(fault.Failed)+": "+why)
	default:
		why = "run " + runID + " was interrupted in " + string(now)
		err = tell(ctx, s, own, string(fault.Interrupted)+": "+why)
	}
	if err != nil && !fault.Is(err, fault.Leased) {
		return err
	}
	_, err = s.Kill(ctx, registry.Kill{Agent: own, By: own, Cascade: true, Reason: why})
	return err
}

// tell writes how the run ended.
func tell(ctx context.Context, s *store.Cleaned, own id.Agent, why string) error {
	note, err := history.Say(history.Note, why)
	if err != nil {
		return err
	}
	note.Meta.Reason = why
	_, err = s.Append(ctx, own, agent.Passing(), note)
	return err
}

// RunName begins the names of runs' own agents.
const RunName = "run-"

// EndRuns ends the agents of runs whose processes ended without a word: nobody writes their
// logs. It looks only where somebody alive is called like a run's agent.
func (w *Workspace) EndRuns(ctx context.Context) error {
	names, err := w.Store.Names(ctx)
	if err != nil || w.runs == nil {
		return err
	}
	suspect := false
	for _, n := range names {
		suspect = suspect || strings.HasPrefix(n, RunName)
	}
	if !suspect {
		return nil
	}
	runs, err := w.runs()
	if err != nil {
		return err
	}
	ids, err := runs.List()
	if err != nil {
		return err
	}
	for _, runID := range ids {
		own, ok, err := runs.Agent(runID)
		if err != nil || !ok {
			continue // run show tells
		}
		a, err := w.Store.Agent(ctx, id.Agent(own))
		if err != nil || a.Status == agent.Dead {
			continue // of another workspace
		}
		x, err := runs.OpenSession(ctx, runID, "")
		if err != nil {
			continue // somebody carries it out
		}
		now := x.Came()
		if err := x.Close(); err != nil {
			return err
		}
		if err := EndRun(ctx, w.Store, a.ID, runID, now, nil); err != nil {
			return err
		}
	}
	return nil
}

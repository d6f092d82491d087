package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/store"
	"ramet/internal/store/database"
)

// Runs is the folder of the runs: the one that is named, else $RAMET_RUNS, else that of the
// project.
func (s *Session) Runs(dir string) (*rundir.Store, error) {
	if dir == "" {
		dir = s.Getenv("RAMET_RUNS")
	}
	project := ""
	if dir == "" {
		var err error
		if project, err = config.ProjectFolder(s.Dir); err != nil {
			return nil, err
		}
		dir = filepath.Join(project, ".ramet", "runs")
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Dir, dir)
	}
	store := &rundir.Store{Root: dir, Project: project, Logs: s.Logs, Key: s.SigningKey, Now: s.Now}
	if place, err := s.Place(); err == nil && database.IsPostgres(place.DB) {
		store.Server = place.DB
	}
	store.Owner = s.runOwner
	return store, nil
}

// runOwner returns the owner of the lease of a run's agent, "" if it is gone, or is this process.
func (s *Session) runOwner(ctx context.Context, own string) (string, error) {
	place, err := s.Place()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(place.DB); !database.IsPostgres(place.DB) && errors.Is(err, fs.ErrNotExist) {
		return "", nil // a look makes no database
	}
	w, err := s.Open(ctx)
	if err != nil {
		return "", err
	}
	lease, holds, err := agent.FindHolder(ctx, w.Store, id.Agent(own), w.Peers.Gone)
	if !holds || lease.Owner == w.owner() {
		return "", err
	}
	return lease.Owner, nil
}

// RunStore returns the store of the workspace's runs.
func (w *Workspace) RunStore() (*rundir.Store, error) {
	if w.runs == nil {
		return nil, fault.New(fault.NotFound, "this workspace has no runs")
	}
	return w.runs()
}

// MakeRuns makes the project's folder for runs, unless they lie elsewhere.
func (s *Session) MakeRuns(dir string) error {
	if dir != "" || s.Getenv("RAMET_RUNS") != "" {
		return nil
	}
	return MakeProjectFolder(s.Dir)
}

// EndRun ends a run's own agent, with its subtree. The agent ends itself, as its run is over or no process
// carries it out; its history says why. The caller holds the agent, or claims it in passing.
func EndRun(ctx context.Context, s *store.Cleaned, own id.Agent, claim agent.Claim, runID string, now run.State, failure error) error {
	a, err := s.Agent(ctx, own)
	if err != nil || a.Status == agent.Dead {
		return err // it was cancelled
	}
	why := "run " + runID + " is " + string(now)
	switch {
	case now == run.Done || now == run.Cancelled:
	case failure != nil:
		err = noteEnd(ctx, s, own, claim, state.Why(failure))
	case now == run.Failed:
		err = noteEnd(ctx, s, own, claim, string(fault.Failed)+": "+why)
	default:
		why = "run " + runID + " was interrupted in " + string(now)
		err = noteEnd(ctx, s, own, claim, string(fault.Interrupted)+": "+why)
	}
	if err != nil && !fault.Is(err, fault.Leased) && !fault.Is(err, fault.Fenced) {
		return err
	}
	_, err = s.Kill(ctx, registry.Kill{Agent: own, By: own, Cascade: true, Reason: why})
	return err
}

// noteEnd writes how the run ended into the history of its agent.
func noteEnd(ctx context.Context, s *store.Cleaned, own id.Agent, claim agent.Claim, why string) error {
	note, err := history.Say(history.Note, why)
	if err != nil {
		return err
	}
	note.Meta.Reason = why
	_, err = s.Append(ctx, own, claim, note)
	return err
}

// RunName begins the names of runs' own agents.
const RunName = "run-"

// EndRuns ends the agents of runs whose orchestrators are gone, as the leases of these agents tell. It looks only
// where a living agent is named like a run's. No person does this, whatever command it is part of.
func (w Agents) EndRuns(ctx context.Context) error {
	ctx = history.Unattended(ctx)
	names, err := w.ws.Store.Names(ctx)
	if err != nil || w.ws.runs == nil {
		return err
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, RunName) }) {
		return nil
	}
	runs, err := w.ws.runs()
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
		a, err := w.ws.Store.Agent(ctx, id.Agent(own))
		if err != nil || a.Status == agent.Dead {
			continue // of another workspace
		}
		if err := w.endOrphan(ctx, runs, runID, a); err != nil {
			return err
		}
	}
	return nil
}

// endOrphan ends the agent of a run if the run's owner is gone. The lock of the log is taken only then: a free lock proves
// nothing, and one that is held for a look shuts out an orchestrator that lost its connection.
func (w Agents) endOrphan(ctx context.Context, runs *rundir.Store, runID string, own agent.Agent) error {
	_, holds, err := agent.FindHolder(ctx, w.ws.Store, own.ID, w.ws.Peers.Gone)
	if err != nil || holds {
		return err
	}
	kept, err := w.ws.Kernel.Keep(ctx, own.ID)
	if err != nil {
		return nil // another process took it meanwhile
	}
	defer kept.Release(ctx)
	x, err := runs.OpenSession(ctx, runID, "")
	if err != nil {
		return nil // another process writes its log; run show tells what else is wrong
	}
	now := x.CurrentState()
	if err := x.Close(); err != nil {
		return err
	}
	return EndRun(ctx, w.ws.Store, own.ID, kept.Claim(), runID, now, nil)
}

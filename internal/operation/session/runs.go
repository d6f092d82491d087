package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/run/rundir"
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

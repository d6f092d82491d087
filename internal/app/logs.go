package app

import (
	"context"
	"path/filepath"

	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/run/rundir"
	"ramet/internal/run/sqllog"
)

// logs opens the event logs of runs, wherever they are kept.
type logs struct{}

func (logs) Open(ctx context.Context, kind rundir.Kind, dir, runID string) (run.Log, error) {
	switch {
	case kind.Remote():
		return sqllog.OpenTable(ctx, string(kind), runID)
	case kind == rundir.SQLite:
		return sqllog.OpenFile(ctx, filepath.Join(dir, "events.sqlite"))
	}
	return ndjson.Open(ctx, filepath.Join(dir, "events.ndjson"))
}

// Remove takes a log out of a server.
func (logs) Remove(ctx context.Context, kind rundir.Kind, runID string) error {
	return sqllog.RemoveTable(ctx, string(kind), runID)
}

func (logs) OpenWriter(ctx context.Context, kind rundir.Kind, dir, runID string) (run.Writer, string, error) {
	switch {
	case kind.Remote():
		w, err := sqllog.OpenTableWriter(ctx, string(kind), runID)
		if err != nil {
			return nil, "", err
		}
		return w, "", nil
	case kind == rundir.SQLite:
		w, err := sqllog.OpenFileWriter(ctx, filepath.Join(dir, "events.sqlite"))
		if err != nil {
			return nil, "", err
		}
		return w, "", nil
	}
	w, err := ndjson.OpenWriter(ctx, filepath.Join(dir, "events.ndjson"))
	if err != nil {
		return nil, "", err
	}
	repair, did := w.Repaired()
	if !did {
		return w, "", nil
	}
	return w, repair.String(), nil
}

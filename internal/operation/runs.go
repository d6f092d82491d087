package operation

import (
	"context"
	"errors"

	"ramet/internal/run/rundir"
)

// Runs is the folder of orchestrated runs that operations work on.
type Runs struct {
	*rundir.Store
	Kind rundir.Kind // where the log of a run is, if the user says so
	// External reports whether a host of a database is alive that may act outside of runs; nil: unknown.
	External func(ctx context.Context, db string) (bool, error)

	costs runCosts
}

// OnRuns returns a client that also carries out operations on runs.
func (l Local) OnRuns(store *rundir.Store) Local {
	runs := &Runs{Store: store}
	l.Runs = func() (*Runs, error) { return runs, nil }
	return l
}

// RunID names a run.
type RunID string

// read opens the log of a run.
func (r *Runs) read(ctx context.Context, id RunID, do func(*rundir.Reader) error) error {
	reader, err := r.Open(ctx, string(id), r.Kind)
	if err != nil {
		return err
	}
	return errors.Join(do(reader), reader.Close())
}

package operation

import (
	"context"
	"errors"

	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// Runs is the folder of orchestrated runs that operations work on.
type Runs struct {
	*rundir.Store
	Kind rundir.Kind // where the log of a run is, if the user says so
	// External reports whether a host of a database is alive that may act outside of runs; nil: unknown.
	External func(ctx context.Context, db string) (bool, error)
	// Begin carries out a command line in a process of its own, which continues in the background, and
	// returns what it prints first; nil: this system cannot.
	Begin func(ctx context.Context, args ...string) (string, error)

	costs runCosts
}

// OnRuns returns a client that also carries out operations on runs; begin is Runs.Begin.
func (l Local) OnRuns(store *rundir.Store, begin func(context.Context, ...string) (string, error)) Local {
	runs := &Runs{Store: store, Begin: begin}
	l.Runs = func() (*Runs, error) { return runs, nil }
	return l
}

// RunID names a run.
type RunID string

func (r *Runs) made(runID string, state run.State) public.RunMade {
	return public.RunMade{RunID: runID, Path: r.Dir(runID), State: string(state)}
}

// read opens the log of a run.
func (r *Runs) read(ctx context.Context, id RunID, do func(*rundir.Reader) error) error {
	reader, err := r.Open(ctx, string(id), r.Kind)
	if err != nil {
		return err
	}
	return errors.Join(do(reader), reader.Close())
}

package runs

import (
	"context"

	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/rundir"
	"ramet/internal/runner"
	"ramet/internal/session"
)

// Ports carry out runs, in this process.
type Ports struct {
	// Carry carries out a run until it is over or has to stop; nil only when it is DONE.
	Carry func(context.Context, *session.Workspace, Job) error
	// Work takes items of runs from a database until ctx ends.
	Work func(context.Context, *session.Workspace, Host) error
	// External says whether a host of a PostgreSQL database is alive that does what acts
	// outside of runs.
	External func(ctx context.Context, db string) (bool, error)
	// Version is that of the program, for documents.
	Version string
}

// Job is a run to be carried out by this process.
type Job struct {
	Store   *rundir.Store
	Session *rundir.Session // open: the run is ours
	Recipe  *recipe.Recipe
	Params  map[string]string
	Model   string // vendor/name; empty: the configured one
	Plan    run.Plan
	NoCache bool
	Leave   bool // the items to other hosts
	Watch   func(runner.Record)
	Warn    func(string)
}

// Host is a host that does items of runs.
type Host struct {
	Name     string // no two live ones share it
	Queues   []string
	Parallel int
	External bool         // also what acts outside of runs, outside the sandbox
	Note     func(string) // what happens, a line each
}

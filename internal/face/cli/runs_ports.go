package cli

import (
	"context"

	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
)

// RunsPorts carry out runs, in this process.
type RunsPorts struct {
	// Carry carries out a run until it is over or has to stop; nil only when it is DONE.
	Carry func(context.Context, *session.Workspace, Job) error
	// Windows returns how many tokens models can read; 0: unknown.
	Windows func(context.Context, *session.Session) (func(model string) int64, error)
	// Work takes items of runs from a database until ctx ends.
	Work func(context.Context, *session.Workspace, Host) error
	// External reports whether a host of a PostgreSQL database is alive that does what acts
	// outside of runs.
	External func(ctx context.Context, db string) (bool, error)
	// Fetch brings the files that other hosts of a PostgreSQL database made for a run. home: the run is DONE, and nothing
	// else is left to do.
	Fetch func(ctx context.Context, db string, store *rundir.Store, x *rundir.Session) (home bool, err error)
	// Programs are those of recipes, by recipe and name.
	Programs func() map[string]RunProgram
	// OpenAPI writes the description of the HTTP API.
	OpenAPI func() []byte
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
	// Inherited: it was begun on another host, whose orchestrator is gone. It may act outside
	// of runs only if External says so, too.
	Inherited, External bool
	Watch               func(...run.Event)
	Warn                func(string)
}

// Host is a host that does items of runs.
type Host struct {
	Name     string // no two live ones share it
	Queues   []string
	Parallel int
	Note     func(string) // what happens, a line each
	External bool         // also what acts outside of runs, outside the sandbox
	// Orchestrate is the session in which the host also takes up runs whose orchestrators are gone; nil: it does not.
	Orchestrate *session.Session
}

package cli

import (
	"context"
	"time"

	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
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
	// Handovers opens what the orchestrators of a PostgreSQL database leave behind.
	Handovers func(ctx context.Context, db string) (HandoverPort, error)
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
	Watch               func(runner.Record)
	Warn                func(string)
}

// Host is a host that does items of runs.
type Host struct {
	Name     string // no two live ones share it
	Queues   []string
	Parallel int
	External bool         // also what acts outside of runs, outside the sandbox
	Note     func(string) // what happens, a line each
}

// HandoverPort are runs of a database that were begun on other hosts, or that others went on with.
type HandoverPort interface {
	// Every is the interval between looks for orphans.
	Every() time.Duration
	// Orphans names the runs whose orchestrators are gone for a lease, and did not say so.
	Orphans(ctx context.Context) ([]string, error)
	// Claim makes this process the one that may take a run over; ok is false if another process
	// may.
	Claim(ctx context.Context, runID string) (HandedRun, bool, error)
	// Evict ends the session of whoever wrote the log before.
	Evict(ctx context.Context, runID string) error
	// Fetch copies the files of a run that its folder lacks, and says how many.
	Fetch(ctx context.Context, runID string, into *rundir.Files) (int, error)
	// Release lets others take up what was inherited.
	Release(ctx context.Context, runID string)
	// Over deletes what an heir of a run needs: it is over. Its files stay for whoever began it.
	Over(ctx context.Context, runID string) error
	// Forget deletes all that is kept of a run that is over.
	Forget(ctx context.Context, runID string) error
	Close() error
}

// HandedRun holds the record that the host of a takeover needs.
type HandedRun struct {
	rundir.Handover
	Model   string
	Limits  recipe.Limits // as its user had them
	NoCache bool
	Leave   bool
}

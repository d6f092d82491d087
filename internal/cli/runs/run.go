// Package runs are the commands of orchestrated runs and their logs.
package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/database"
	"ramet/internal/fault"
	"ramet/internal/rundir"
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

// Commands are the commands of this group.
func Commands(l *line.Line, p Ports) []*cobra.Command {
	return []*cobra.Command{runCommand(l, p), workerCommand(l, p), schemaCommand(l, p)}
}

// runFlags are those of all run commands.
type runFlags struct {
	dir, log string
}

func runCommand(l *line.Line, p Ports) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Orchestrated runs and their event logs",
		Long: `Carry out a recipe with agents as workers: start, resume, cancel. Everything that a
run does is in an append-only, hash-chained log: follow it, replay it, and prove that
nobody changed it. Any program, in any language, can use such a log as its own audit
trail: init, append, verify.`,
		Args: line.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	c.AddCommand(startCommand(l, f, p), resumeCommand(l, f, p), cancelCommand(l, f), recipesCommand(l), recipeCommand(l), initCommand(l, f), appendCommand(l, f), eventsCommand(l, f), showCommand(l, f, p), listCommand(l, f), replayCommand(l, f), planCommand(l, f),
		verifyCommand(l, f), exportCommand(l, f), importCommand(l, f), forkCommand(l, f))
	return c
}

// kind is the user's word on where the log is.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || database.IsPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is no kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

// newKind is where a new run's log goes.
func (f *runFlags) newKind() (rundir.Kind, error) {
	k, err := f.kind()
	if k == "" {
		k = rundir.NDJSON
	}
	return k, err
}

type openSession func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error)

// withSession opens a run for appending, with one of the store's ways to do that,
// and says if its tail had to be repaired.
func withSession(l *line.Line, c *cobra.Command, f *runFlags, runID string, open openSession, do func(*rundir.Session) error) error {
	store, err := l.Runs(f.dir)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	x, err := open(store, c.Context(), runID, kind)
	if err != nil {
		return err
	}
	if x.Repaired != "" {
		fmt.Fprintf(l.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
	}
	return errors.Join(do(x), x.Close())
}

func withReader(l *line.Line, c *cobra.Command, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, err := l.Runs(f.dir)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	r, err := store.Open(c.Context(), runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(store, r), r.Close())
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
	"ramet/internal/run/rundir"
	"ramet/internal/store/database"
)

func runsCommand(l *Line, p RunsPorts) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Orchestrated runs and their event logs",
		Long: `Run recipes with agents as workers: start, resume, cancel. Everything that happens in a run
is written to an append-only, hash-chained log. You can follow the log, replay it, and prove
that it was not changed. Any program in any language can use such a log as its own audit
trail: init, append, verify.`,
		Args: UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	l.OpenRuns = func() (*operation.Runs, error) {
		store, kind, err := f.open(l)
		return &operation.Runs{Store: store, Kind: kind, External: p.External}, err
	}
	c.AddCommand(startCommand(l, f, p), resumeRunCommand(l, f, p), l.Command(&operation.CancelRun), recipesCommand(l), recipeCommand(l), initCommand(l, f), appendEventCommand(l, f), l.Command(&operation.ReadRunEvents), l.Command(&operation.ShowRun), l.Command(&operation.ListRuns), replayCommand(l, f), planCommand(l, f, p),
		l.Command(&operation.VerifyRun), exportRunCommand(l, f), importRunCommand(l, f), l.Command(&operation.ForkRun), l.Command(&operation.RemoveRuns), newCommand(l), programCommand(l, p))
	for _, sub := range c.Commands() {
		if strings.Contains(sub.Use, " ID") {
			sub.ValidArgsFunction = completeRuns(l, f)
		}
		if sub.Flags().Lookup("model") != nil {
			sub.RegisterFlagCompletionFunc("model", l.CompleteModels)
		}
	}
	return c
}

func completeRuns(l *Line, f *runFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.HasSuffix(c.Use, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		store, err := l.Runs(f.dir)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ids, err := store.List()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// RunProgram is a program of a recipe, called by its commands: in the folder where it is called,
// with its inputs below $RAMET_INPUTS, and variables.
type RunProgram func(ctx context.Context, dir, inputs string, l *Line) error

// programCommand makes the command that built-in recipes call ("$RAMET" run program docs plan);
// people do not type it. It opens no workspace: in the sandbox there is none.
func programCommand(l *Line, p RunsPorts) *cobra.Command {
	return &cobra.Command{
		Use:    "program RECIPE NAME",
		Short:  "Run a program of a recipe",
		Hidden: true,
		Args:   CheckArguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			programs := p.Programs()
			do, ok := programs[strings.Join(args, " ")]
			if !ok {
				return fault.New(fault.NotFound, "there is no program %.60q of a recipe %.60q", args[1], args[0]).
					WithHint("there are %s", strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
			}
			dir, err := os.Getwd()
			if err != nil {
				return fault.New(fault.Failed, "find the folder: %w", err)
			}
			return do(c.Context(), dir, l.Getenv("RAMET_INPUTS"), l)
		},
	}
}

type runFlags struct {
	dir, log string
}

// kind returns the kind of log that the user chose; empty: none.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || database.IsPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is not a kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

// open returns the folder of runs, and the kind of log that the user chose.
func (f *runFlags) open(l *Line) (*rundir.Store, rundir.Kind, error) {
	store, err := l.Runs(f.dir)
	if err != nil {
		return nil, "", err
	}
	kind, err := f.kind()
	return store, kind, err
}

// openNew returns what open does, for a new run.
func (f *runFlags) openNew(l *Line) (*rundir.Store, rundir.Kind, error) {
	store, kind, err := f.open(l)
	return store, cmp.Or(kind, rundir.NDJSON), err
}

// withSession opens a run with open, for appending, and reports if its tail had to be repaired.
func withSession(l *Line, c *cobra.Command, f *runFlags, runID string, open func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error),
	do func(*rundir.Session) error) error {
	store, kind, err := f.open(l)
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

func withReader(l *Line, c *cobra.Command, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, kind, err := f.open(l)
	if err != nil {
		return err
	}
	r, err := store.Open(c.Context(), runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(store, r), r.Close())
}

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/operation"
)

// runCommands are the commands of this group.
func runCommands(l *Line, p RunsPorts) []*cobra.Command {
	return []*cobra.Command{runsCommand(l, p), workerCommand(l, p), schemaCommand(l, p.OpenAPI)}
}

func runsCommand(l *Line, p RunsPorts) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Orchestrated runs and their event logs",
		Long: `Carry out a recipe with agents as workers: start, resume, cancel. Everything that a
run does is in an append-only, hash-chained log: follow it, replay it, and prove that
nobody changed it. Any program, in any language, can use such a log as its own audit
trail: init, append, verify.`,
		Args: UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	l.OpenRuns = func() (*operation.Runs, error) {
		store, err := l.Runs(f.dir)
		if err != nil {
			return nil, err
		}
		kind, err := f.kind()
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

// completeRuns completes with the ids of runs.
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

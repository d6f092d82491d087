package runs

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
)

// Commands are the commands of this group.
func Commands(l *line.Line, p Ports) []*cobra.Command {
	return []*cobra.Command{runCommand(l, p), workerCommand(l, p), schemaCommand(l, p)}
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
	c.AddCommand(startCommand(l, f, p), resumeCommand(l, f, p), cancelCommand(l, f), recipesCommand(l), recipeCommand(l), initCommand(l, f), appendCommand(l, f), eventsCommand(l, f), showCommand(l, f, p), listCommand(l, f), replayCommand(l, f), planCommand(l, f, p),
		verifyCommand(l, f), exportCommand(l, f), importCommand(l, f), forkCommand(l, f), rmCommand(l, f), newCommand(l), programCommand(l, p))
	return c
}

package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
)

// forkAgentCommand is the command of the operation, with --run in addition: it is "ramet exec --fork".
func forkAgentCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Fork)
	var run bool
	c.Flags().BoolVar(&run, "run", false, "with --prompt: run the child's first turn and print its answer, as \"ramet exec --fork\" does")
	fork := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !run {
			return fork(c, args)
		}
		if !c.Flags().Changed("prompt") {
			return fault.New(fault.Usage, "fork: --run goes with --prompt: it says what the child is to do")
		}
		given := func(name string) string { return c.Flags().Lookup(name).Value.String() }
		first := execFlags{fork: true, name: given("name"), at: given("at"), model: given("model"), driver: given("driver"), effort: given("effort"),
			role: given("role"), worktree: given("worktree") == "true", clean: given("clean") == "true"}
		return runExec(l, c, first, []string{Or0(args), given("prompt")})
	}
	return c
}

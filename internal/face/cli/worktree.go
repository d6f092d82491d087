package cli

import "github.com/spf13/cobra"

func worktreeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "worktree",
		Short: "List or remove the worktrees of agents",
		Long: `Look after the git worktrees that "ramet fork --worktree" made. "ramet merge"
brings the work in one back.`,
		Args: UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

package cli

import "github.com/spf13/cobra"

func worktreeCommand() *cobra.Command {
	return parent("worktree", "List or remove the worktrees of agents", `Look after the git worktrees that "ramet fork --worktree" made. "ramet merge"
brings the work in one back.`)
}

package cli

import (
	"github.com/spf13/cobra"
)

// ledgerCommands are the commands of this group.
func ledgerCommands(l *Line) []*cobra.Command { return []*cobra.Command{trackCommand(l)} }

func trackCommand(l *Line) *cobra.Command {
	f := &trackFlags{}
	c := &cobra.Command{
		Use:   "track",
		Short: "The ledger of spawned sub-agents",
		Long: `Keep account of every sub-agent that is spawned, by whatever program: who runs, who
ended how, who was interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and
current-agent-id.txt, which other tools read and write too; what they add is kept.
Each command first repairs what it finds damaged, and says so on standard error.

spawned goes to completed, failed, timeout or interrupted; interrupted goes to
resumed or failed; the others are final.`,
		Args: UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	c.AddCommand(spawnCommand(l, f), completeCommand(l, f), failCommand(l, f), timeoutCommand(l, f), interruptCommand(l, f), resumeLedgerCommand(l, f),
		runWithLedgerCommand(l, f), activeCommand(l, f), interruptedCommand(l, f), historyCommand(l, f), listLedgerCommand(l, f),
		recoverCommand(l, f), watchCommand(l, f), installLedgerCommand(l, f), uninstallCommand(l), hookCommand(l, f))
	return c
}

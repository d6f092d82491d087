package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/ledger"
)

// ledgerCommands are the commands of this group.
func ledgerCommands(l *Line) []*cobra.Command { return []*cobra.Command{trackCommand(l)} }

func trackCommand(l *Line) *cobra.Command {
	f := &trackFlags{}
	c := parent("track", "The ledger of spawned sub-agents", `Keep account of every sub-agent that is spawned, by whatever program: who runs, who
ended how, who was interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and
current-agent-id.txt, which other tools read and write too; what they add is kept.
Each command first repairs what it finds damaged, and says so on standard error.

spawned goes to completed, failed, timeout or interrupted; interrupted goes to
resumed or failed; the others are final.`,
		spawnCommand(l, f), trackMove(l, f, "complete", ledger.Completed, "Record that a sub-agent ended well"),
		trackMove(l, f, "fail", ledger.Failed, "Record that a sub-agent failed"),
		trackMove(l, f, "timeout", ledger.Timeout, "Record that a sub-agent used up its time"),
		trackMove(l, f, "interrupt", ledger.Interrupted, "Record that a sub-agent stopped in the middle; it can be resumed"),
		resumeLedgerCommand(l, f), runWithLedgerCommand(l, f), activeCommand(l, f), interruptedCommand(l, f), historyCommand(l, f), listLedgerCommand(l, f),
		recoverCommand(l, f), watchCommand(l, f), installLedgerCommand(l, f), uninstallCommand(l), hookCommand(l, f))
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	f.flag = c.PersistentFlags().Lookup("state")
	return c
}

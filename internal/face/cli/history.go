package cli

import (
	"github.com/spf13/cobra"
)

// historyCommands are the commands of this group.
func historyCommands(l *Line) []*cobra.Command {
	return []*cobra.Command{exportHistoryCommand(l), importHistoryCommand(l)}
}

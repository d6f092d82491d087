package cli

import (
	"github.com/spf13/cobra"
)

// mailCommands are the commands of this group.
func mailCommands(l *Line) []*cobra.Command {
	return []*cobra.Command{mailCommand(l)}
}

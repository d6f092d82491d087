package cli

import (
	"github.com/spf13/cobra"
)

// modelCommands are the commands of this group.
func modelCommands(l *Line, p ModelsPorts) []*cobra.Command {
	return []*cobra.Command{modelsCommand(l, p), authCommand(l, p)}
}

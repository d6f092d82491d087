// Package history are the commands that read and shape the history of one agent.
package history

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
)

// Commands are the commands of this group.
func Commands(l *line.Line) []*cobra.Command {
	return []*cobra.Command{appendCommand(l), logCommand(l), clearCommand(l), compactCommand(l), markCommand(l), rewindCommand(l), exportCommand(l), importCommand(l)}
}

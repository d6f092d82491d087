// Package mail are the commands that send, list and read letters.
package mail

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
)

// Commands are the commands of this group.
func Commands(l *line.Line) []*cobra.Command {
	return []*cobra.Command{sendCommand(l), mailCommand(l), readCommand(l)}
}

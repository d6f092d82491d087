// Package models are the commands about models: which there are, their keys, what they cost.
package models

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
)

// Commands are the commands of this group.
func Commands(l *line.Line, p Ports) []*cobra.Command {
	return []*cobra.Command{modelsCommand(l, p), authCommand(l, p), spendingCommand(l)}
}

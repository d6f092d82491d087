// Package agents are the commands that make agents work, list them and end them.
package agents

import (
	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
)

// Commands are the commands of this group; serve serves a workspace.
func Commands(l *line.Line, version string, serve Serve) []*cobra.Command {
	return []*cobra.Command{execCommand(l), serveCommand(l, serve), webCommand(l), acpCommand(l, version), psCommand(l), showCommand(l), waitCommand(l), forkCommand(l), driversCommand(l),
		mergeCommand(l), worktreeCommand(l), killCommand(l), renameCommand(l), modeCommand(l), effortCommand(l), instructionsCommand(l), skillsCommand(l), hooksCommand(l)}
}

package cli

import (
	"github.com/spf13/cobra"
)

// agentCommands are the commands of this group; serve serves a workspace.
func agentCommands(l *Line, version string, serve Serve) []*cobra.Command {
	return []*cobra.Command{execCommand(l), serveHTTPCommand(l, serve), webCommand(l), acpCommand(l, version), showAgentCommand(l), waitCommand(l), forkAgentCommand(l), driversCommand(l),
		mergeCommand(l), worktreeCommand(l), killCommand(l), modeCommand(l), effortCommand(l), instructionsCommand(l), skillsCommand(l), hooksCommand(l)}
}

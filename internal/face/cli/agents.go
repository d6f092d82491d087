package cli

import (
	"github.com/spf13/cobra"
)

// agentCommands returns the commands of this group.
func agentCommands(l *Line, p ServerPorts) []*cobra.Command {
	return []*cobra.Command{execCommand(l), serveHTTPCommand(l, p), webCommand(l, p), acpCommand(l, p.ACP), forkAgentCommand(l),
		worktreeCommand(), killCommand(l)}
}

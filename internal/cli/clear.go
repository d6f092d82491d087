package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/history"
)

func (s *session) clearCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clear AGENT",
		Short: "Empty an agent's context; print the entry's id",
		Long: `Empty an agent's context. Nothing is deleted: the clear is an entry, and a wall
behind which no rewind goes. Children that were forked before keep theirs.`,
		Args:              arguments(1, 1),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			return s.append(c, args[0], history.NewClear())
		},
	}
}

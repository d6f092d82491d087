package cli

import (
	"github.com/spf13/cobra"
)

func clearCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "clear AGENT",
		Short: "Empty an agent's context; print the entry's id",
		Long: `Empty an agent's context. Nothing is deleted: the clear is an entry, and a wall
behind which no rewind goes. Children that were forked before keep theirs.`,
		Args:              CheckArguments(1, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return writtenHistory(l)(ws.History().Clear(c.Context(), a))
		},
	}
}

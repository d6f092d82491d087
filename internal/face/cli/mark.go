package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/core/history"
)

func markCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:               "mark AGENT [LABEL]",
		Short:             "Mark a point to rewind to; print its id",
		Long:              "Mark a point to rewind to, and record the state of the agent's files there for \"ramet rewind --files\".",
		Args:              CheckArguments(1, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			label := ""
			if len(args) == 2 {
				label = args[1]
				if err := history.CheckLabel(label); err != nil {
					return err
				}
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return writtenHistory(l)(ws.Mark(c.Context(), a, label))
		},
	}
}

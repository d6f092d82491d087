package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/history"
)

func (s *session) markCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "mark AGENT [LABEL]",
		Short:             "Mark a point to rewind to; print its id",
		Args:              arguments(1, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			label := ""
			if len(args) == 2 {
				label = args[1]
				if err := history.CheckLabel(label); err != nil {
					return err
				}
			}
			draft, err := history.NewMark(label)
			if err != nil {
				return err
			}
			return s.append(c, args[0], draft)
		},
	}
}

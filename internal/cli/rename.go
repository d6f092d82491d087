package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/printer"
)

func (s *session) renameCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "rename AGENT NAME",
		Short:             "Give an agent a name",
		Args:              arguments(2, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := agent.CheckName(args[1]); err != nil {
				return err
			}
			ws, a, err := s.findToWrite(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a, err = ws.Rename(c.Context(), a.ID, agent.Passing(), args[1]); err != nil {
				return err
			}
			return s.print(renamed(shapeAgent(a)))
		},
	}
}

// renamed is the datum of rename.
type renamed agentShape

func (r renamed) Text(w *printer.Writer) { w.Line("%s is now called %s", r.UUID.Short(), *r.Name) }

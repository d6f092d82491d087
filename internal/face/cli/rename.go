package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
)

func renameCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:               "rename AGENT NAME",
		Short:             "Give an agent a name",
		Args:              CheckArguments(2, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a, err = ws.Rename(c.Context(), a, args[1]); err != nil {
				return err
			}
			return l.Print(renamed(public.FormatAgent(a)))
		},
	}
}

// renamed is the datum of rename.
type renamed public.Agent

func (r renamed) Text(w *printer.Writer) { w.Line("%s is now called %s", r.UUID.Short(), *r.Name) }

package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/demo"
	"ramet/internal/printer"
)

func (s *session) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "A guided tour on a throw-away workspace",
		Long: `A guided tour on a throw-away workspace: fork, mail, kill, a SIGKILL in the
middle of the work and coming back, verify. It needs nothing and leaves nothing.`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.Demo(c.Context(), func(step demo.Step) error { return s.printer().PrintLine(scene(step)) })
		},
	}
}

// scene is the datum of demo: one step of it.
type scene demo.Step

func (d scene) Text(w *printer.Writer) {
	if d.Title != "" {
		w.Line("\n%v", w.Bold(d.Title))
	}
	if d.Command != "" {
		w.Line("  %v", w.Dim("$ "+d.Command))
	}
	w.Block("  ", d.Output)
}

package care

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/cli/line"
	"ramet/internal/demo"
	"ramet/internal/printer"
)

func demoCommand(l *line.Line, tour Tour) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "A guided tour on a throw-away workspace",
		Long: `A guided tour on a throw-away workspace: fork, mail, kill, a SIGKILL in the
middle of the work and coming back, verify. It needs nothing and leaves nothing.`,
		Args: line.Arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return tour(c.Context(), func(step demo.Step) error { return l.Printer().PrintLine(scene(step)) })
		},
	}
}

// Tour is the guided tour; it makes a workspace of its own.
type Tour func(ctx context.Context, show func(demo.Step) error) error

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

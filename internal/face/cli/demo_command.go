package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func demoCommand(l *Line, tour Tour) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "A guided tour on a throw-away workspace",
		Long: `A guided tour on a throw-away workspace: fork, mail, a question, a SIGKILL in the
middle of the work and coming back, kill, verify, the page. On a terminal Enter continues after
each chapter, q leaves, and it ends inside of ramet; elsewhere it is told without a stop. It
needs nothing and leaves nothing.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			on := DemoStage{Show: func(step DemoStep) error { return l.Printer().PrintLine(scene(step)) }}
			if l.Terminal && l.Password != nil && !l.JSON { // somebody sits there
				on.Next = func(ctx context.Context, does string) error { return next(ctx, l, does) }
			}
			if err := tour(c.Context(), on); !errors.Is(err, errEnough) {
				return err
			}
			return nil
		},
	}
}

// Tour is the guided tour; it makes a workspace of its own.
type Tour func(ctx context.Context, on DemoStage) error

var errEnough = errors.New("enough")

// next waits for Enter; q, or the end of the input, is enough of the tour. It reads letter by letter:
// what is typed ahead belongs to whoever reads next.
func next(ctx context.Context, l *Line, does string) error {
	fmt.Fprintf(l.Stdout, "\n%s (q leaves) ", does)
	var typed []byte
	for one := make([]byte, 1); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n, err := l.Stdin.Read(one); n == 0 || err != nil {
			return errEnough
		}
		if one[0] == '\n' {
			break
		}
		typed = append(typed, one[0])
	}
	if s := strings.TrimSpace(string(typed)); s == "q" || s == "quit" {
		return errEnough
	}
	return nil
}

// scene is the datum of demo: one step of it.
type scene DemoStep

func (d scene) Text(w *printer.Writer) {
	if d.Title != "" {
		w.Line("\n%v", w.Bold(d.Title))
	}
	if d.Command != "" {
		w.Line("  %v", w.Dim("$ "+d.Command))
	}
	w.Block("  ", d.Output)
}

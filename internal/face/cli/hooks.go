package cli

import (
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

func hooksCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "hooks",
		Short: "List the commands that run on events of agents",
		Long: `List the hooks: commands that run when an agent is about to use a tool, has used one, ends
its turn and so on. They stand in [[hooks]] of your configuration and of the project's, in
.claude/settings.json and settings.local.json of the project once you accepted them
(ramet trust), and in .claude/settings.json of your home. Those of a project run confined.

` + ExitHelp(),
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			shape, err := ws.Project().ListHooks()
			if err != nil {
				return err
			}
			return l.Print(hooks{shape})
		},
	}
}

// hooks is the datum.
type hooks struct{ public.Hooks }

func (d hooks) Text(w *printer.Writer) {
	if len(d.Hooks.Hooks) == 0 {
		w.Line("there are no hooks")
	} else {
		rows := [][]string{{"EVENT", "MATCHER", "WHOSE", "TIME", "COMMAND"}}
		for _, h := range d.Hooks.Hooks {
			matcher, whose := h.Matcher, h.Scope
			if matcher == "" {
				matcher = "*"
			}
			if h.Required {
				whose += ", required"
			}
			rows = append(rows, []string{h.Event, text.Line(matcher, 40), whose, (time.Duration(h.TimeoutMS) * time.Millisecond).String(), text.Line(h.Command, 100)})
		}
		w.Table(rows)
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}

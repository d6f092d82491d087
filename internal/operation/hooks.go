package operation

import (
	"context"
	"time"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// ListHooks lists the commands that run on events.
var ListHooks = Op[NoInput, public.Hooks]{
	Doc: Doc{Name: "hooks", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the commands that run on events of agents",
		Help: `List the hooks: commands that run on events, such as before and after a tool call or at the end
of a turn. They are defined in [[hooks]] of your configuration and the project's, in the
project's .claude/settings.json and settings.local.json once you have accepted them (ramet
trust), and in .claude/settings.json in your home folder. Hooks of a project run confined.`},
	Run:  func(_ context.Context, e *Env, _ NoInput) (public.Hooks, error) { return e.Project().ListHooks() },
	Text: writeHooks,
}

func writeHooks(w *printer.Writer, _ NoInput, d public.Hooks) {
	if len(d.Hooks) == 0 {
		w.Line("no hooks")
	} else {
		rows := [][]string{{"EVENT", "MATCHER", "WHOSE", "TIME", "COMMAND"}}
		for _, h := range d.Hooks {
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

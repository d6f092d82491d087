package agents

import (
	"ramet/internal/cli/line"
	"ramet/internal/public"
	"ramet/internal/session"

	"github.com/spf13/cobra"

	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
)

func killCommand(l *line.Line) *cobra.Command {
	var cascade bool
	var reason string
	c := &cobra.Command{
		Use:   "kill AGENT",
		Short: "End an agent, with its whole subtree if asked",
		Long: `End an agent. With --cascade everything below it ends too, also below agents
that are dead already. What a kernel of this machine runs for them is ended before
the command returns. Without it children live on under their nearest living
ancestor, unless the configuration says orphans = "cascade".

Killing the dead says since when it is dead and exits 0. Agent 0 cannot be
killed.`,
		Args:              line.Arguments(1, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := session.CheckReason(reason); err != nil {
				return err
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			k := session.Kill{Agent: a, Reason: reason}
			if c.Flags().Changed("cascade") {
				k.Cascade = &cascade
			}
			done, err := ws.Kill(c.Context(), k)
			if err != nil {
				return err
			}
			return l.Print(killed{done})
		},
	}
	c.Flags().BoolVar(&cascade, "cascade", false, "everything below it too")
	c.Flags().StringVar(&reason, "reason", "killed", "why, for the record")
	return c
}

// killed is the datum of kill.
type killed struct{ registry.Killed }

func (k killed) MarshalJSON() ([]byte, error) { return public.Marshal(public.FormatKilled(k.Killed)) }

func (k killed) Text(w *printer.Writer) {
	below := len(k.Victims)
	if k.Before {
		w.Line("%s is dead since %s (%s)", k.Agent.Label(), public.Stamp(k.Agent.EndedAt), k.Agent.EndReason)
	} else {
		w.Line("killed %s", k.Agent.Label())
		below--
	}
	if below > 0 {
		w.Line("killed %s below it", text.Count(below, "agent"))
	}
}

package cli

import (
	"errors"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
)

func killCommand(l *Line) *cobra.Command {
	var cascade, finished bool
	var reason string
	c := &cobra.Command{
		Use:   "kill AGENT",
		Short: "End an agent, with its whole subtree if asked",
		Long: `End an agent. With --cascade everything below it ends too, also below agents
that are dead already. What a kernel of this machine runs for them is ended before
the command returns. Without it children live on under their nearest living
ancestor, unless the configuration says orphans = "cascade".

With --finished and no agent, those end that are done or have failed and below which
nobody works, waits or was interrupted; they keep their state.

Killing the dead says since when it is dead and exits 0. Agent 0 cannot be
killed.`,
		Args: func(c *cobra.Command, args []string) error {
			if finished {
				return CheckArguments(0, 0)(c, args)
			}
			return CheckArguments(1, 1)(c, args)
		},
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if finished {
				ws, err := l.Open(c.Context())
				if err != nil {
					return err
				}
				ended, err := ws.KillFinished(c.Context())
				return errors.Join(l.Print(agentsSwept{ended}), err)
			}
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
	c.Flags().BoolVar(&finished, "finished", false, "all that are done or have failed")
	c.Flags().StringVar(&reason, "reason", "killed", "why, for the record")
	c.MarkFlagsMutuallyExclusive("finished", "cascade")
	c.MarkFlagsMutuallyExclusive("finished", "reason")
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

// agentsSwept is the datum of kill --finished.
type agentsSwept struct{ ended []agent.Agent }

func (s agentsSwept) MarshalJSON() ([]byte, error) {
	ids := []id.Agent{}
	for _, a := range s.ended {
		ids = append(ids, a.ID)
	}
	return public.Marshal(struct {
		Killed []id.Agent `json:"killed"`
		Count  int        `json:"count"`
	}{ids, len(ids)})
}

func (s agentsSwept) Text(w *printer.Writer) {
	for _, a := range s.ended {
		w.Line("ended %s", a.Label())
	}
	if len(s.ended) == 0 {
		w.Line("nobody is finished")
	}
}

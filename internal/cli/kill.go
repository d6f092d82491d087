package cli

import (
	"fmt"
	"strings"

	"ramet/internal/public"

	"github.com/spf13/cobra"

	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
)

// maxReason is the longest reason of a kill, in bytes.
const maxReason = 512

func (s *session) killCommand() *cobra.Command {
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
		Args:              arguments(1, 1),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := text.Check(fault.InvalidText, "the reason", reason, maxReason); err != nil {
				return err
			}
			conf, err := s.config()
			if err != nil {
				return err
			}
			if !c.Flags().Changed("cascade") {
				cascade = conf.Orphans == "cascade"
			}
			ws, a, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			before, err := control.Held(c.Context(), ws)
			if err != nil {
				return err
			}
			done, err := ws.Kill(c.Context(), registry.Kill{Agent: a.ID, Cascade: cascade, Reason: reason})
			if err != nil {
				return err
			}
			// Nothing of the victims may run when this says that they are dead.
			if err := s.bury(c.Context(), before, control.Deaths(done)...); err != nil {
				return err
			}
			return s.print(killed{done})
		},
	}
	c.Flags().BoolVar(&cascade, "cascade", false, "everything below it too")
	c.Flags().StringVar(&reason, "reason", "killed", "why, for the record")
	return c
}

// killed is the datum of kill.
type killed struct{ registry.Killed }

func (k killed) MarshalJSON() ([]byte, error) { return marshal(public.FormatKilled(k.Killed)) }

func (k killed) Text(w *printer.Writer) {
	below := len(k.Victims)
	if k.Before {
		w.Line("%s is dead since %s (%s)", k.Agent.Label(), stamp(k.Agent.EndedAt), k.Agent.EndReason)
	} else {
		w.Line("killed %s", k.Agent.Label())
		below--
	}
	if below > 0 {
		w.Line("killed %s below it", count(below, "agent"))
	}
}

// count is a number with its noun, in the right form.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

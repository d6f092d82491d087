package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/control"
	"ramet/internal/id"
	"ramet/internal/mail"
	"ramet/internal/printer"
	"ramet/internal/registry"
)

// you is what the user is called as a sender.
const you = "you"

func (s *session) sendCommand() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "send TO TEXT|-",
		Short: "Send a letter to an agent",
		Long: `Put a letter into an agent's mailbox, from you, or from another agent with
--from. Mail waits until it is read. TEXT - reads standard input.`,
		Args:              arguments(2, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			body, err := s.text(args[1])
			if err != nil {
				return err
			}
			if err := mail.CheckBody(body); err != nil {
				return err
			}
			ws, to, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			sender, err := s.sender(c, ws, from)
			if err != nil {
				return err
			}
			l, err := s.post(c.Context(), ws, registry.Send{From: sender, Claim: agent.Passing(), To: to.ID, Body: body})
			if err != nil {
				return err
			}
			return s.print(sent{shapeLetter(l), to.Label()})
		},
	}
	c.Flags().StringVar(&from, "from", you, "the agent that sends it")
	c.RegisterFlagCompletionFunc("from", s.completeAgents(1<<30))
	return c
}

// post sends a letter, if need be through the kernel that holds the sender, and
// wakes the receiver.
func (s *session) post(ctx context.Context, ws Workspace, letter registry.Send) (mail.Letter, error) {
	var l mail.Letter
	var err error
	here := func() error {
		if l, err = ws.Send(ctx, letter); err != nil {
			return err
		}
		return s.tell(ctx, registry.Ring{Agent: letter.To, What: registry.RingMail})
	}
	if letter.From == "" {
		err = here()
		return l, err
	}
	err = s.through(ctx, ws, letter.From, here, func(k *control.Client) error {
		l, err = k.Send(ctx, letter)
		return err
	})
	return l, err
}

func (s *session) sender(c *cobra.Command, ws Workspace, ref string) (id.Agent, error) {
	if ref == you {
		return "", nil
	}
	a, err := agent.Find(c.Context(), ws, ref)
	if err != nil {
		return "", err
	}
	return a.ID, s.mend(c.Context(), ws, a)
}

// sent is the datum of send.
type sent struct {
	letterShape
	label string
}

func (d sent) Text(w *printer.Writer) { w.Line("letter %d to %s", d.Number, d.label) }

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/core/agent"
	letters "ramet/internal/core/mail"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// you is what the user is called as a sender.
const you = "you"

// kernelName is what ramet itself is called as a sender of notices.
const kernelName = "the kernel"

func sendCommand(l *Line) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:   "send TO TEXT|-",
		Short: "Send a letter to an agent",
		Long: `Put a letter into an agent's mailbox, from you, or from another agent with
--from. Your letter, and that of an ancestor, begins a turn of an agent that does
nothing, where a server runs (see the setting wake); else it waits, and the command
says for what. An agent at work is told of it before its turn ends. TEXT - reads
standard input.`,
		Args:              CheckArguments(2, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			body, err := l.Text(args[1])
			if err != nil {
				return err
			}
			ws, to, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			letter := session.Letter{To: to, Body: body}
			if letter.From, err = sender(c.Context(), ws, from); err != nil {
				return err
			}
			sent, err := ws.Send(c.Context(), letter)
			if err != nil {
				return err
			}
			return l.Print(posted{public.FormatLetter(sent), to.Label()})
		},
	}
	c.Flags().StringVar(&from, "from", you, "the agent that sends it")
	c.RegisterFlagCompletionFunc("from", l.CompleteAgents(1<<30))
	return c
}

// sender is the agent that a word names; nil: the user.
func sender(ctx context.Context, ws *session.Workspace, ref string) (*agent.Agent, error) {
	if ref == you {
		return nil, nil
	}
	a, err := ws.Find(ctx, ref)
	return &a, err
}

// posted is the datum of send.
type posted struct {
	public.Letter
	label string
}

func (d posted) Text(w *Writer) {
	w.Line("letter %d to %s", d.Number, d.label)
	switch letters.Fate(d.Fate) {
	case letters.Wakes:
		w.Line("it wakes %s", d.label)
	case letters.Meets:
		w.Line("%s is at work, and is told of it before its turn ends", d.label)
	case letters.Waits:
		w.Line("it waits: %s", d.Why)
	}
}

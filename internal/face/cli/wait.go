package cli

import (
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func waitCommand(l *Line) *cobra.Command {
	var all bool
	var box string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait [AGENT]…",
		Short: "Wait until agents have nothing under way, or a letter comes",
		Long: `Wait until one of the agents has nothing under way (with --all: none of them has), or a
letter lies unread in the mailbox of --mail; without an agent, for a letter in that of
agent 0. Nothing is changed, and no letter is marked. Exit code 1 (TIMEOUT) if nothing
came in time.

` + ExitHelp(),
		Args:              CheckArguments(0, 1<<10),
		ValidArgsFunction: l.CompleteAgents(1 << 10),
		RunE: func(c *cobra.Command, args []string) error {
			if timeout <= 0 {
				return fault.New(fault.Usage, "--timeout must be longer than nothing")
			}
			if all && len(args) == 0 {
				return fault.New(fault.Usage, "wait: --all goes with agents").WithHint("name them, or leave it out")
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			x := session.Wait{All: all}
			for _, ref := range args {
				a, err := ws.Find(c.Context(), ref)
				if err != nil {
					return err
				}
				x.Agents = append(x.Agents, a)
			}
			if len(args) == 0 && box == "" {
				box = "0"
			}
			if box != "" {
				owner, err := ws.Find(c.Context(), box)
				if err != nil {
					return err
				}
				x.Mail = &owner
			}
			done, err := ws.Turns().Wait(c.Context(), x, timeout)
			if err != nil {
				return err
			}
			if err := l.Print(waited{public.FormatWaited(done.Over, done.Agents, done.Now, done.Letters)}); err != nil {
				return err
			}
			if !done.Over {
				return fault.New(fault.TimedOut, "nothing came within %s", timeout).WithHint("`ramet ps` shows what they do")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "until none of them has anything under way")
	c.Flags().StringVar(&box, "mail", "", "a letter in the mailbox of this agent ends it too")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "the longest that it may take, such as 90s or 10m")
	c.RegisterFlagCompletionFunc("mail", l.CompleteAgents(1<<30))
	return c
}

// waited is the datum of wait.
type waited struct{ public.Waited }

func (d waited) Text(w *printer.Writer) {
	for _, a := range d.Agents {
		name := string(a.UUID)
		if a.Name != nil {
			name = *a.Name
		}
		said := a.State.Word
		if a.State.Detail != nil {
			said += ": " + text.Line(*a.State.Detail, public.MaxState)
		}
		w.Line("%s %s", name, said)
	}
	if n := len(d.Letters); n > 0 {
		w.Line("%s unread", text.Count(n, "letter"))
	}
}

package mail

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/cli/line"
	"ramet/internal/id"
	"ramet/internal/mail"
	"ramet/internal/printer"
	"ramet/internal/public"
	"ramet/internal/text"
)

func mailCommand(l *line.Line) *cobra.Command {
	var unread bool
	var from string
	c := &cobra.Command{
		Use:   "mail [AGENT]",
		Short: "List an agent's mailbox, unread first; marks nothing",
		Args:  line.Arguments(0, 1), ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			f := mail.Filter{Unread: unread}
			if c.Flags().Changed("from") {
				by, err := sender(c.Context(), ws, from)
				if err != nil {
					return err
				}
				f.From = new(id.Agent)
				if by != nil {
					f.From = &by.ID
				}
			}
			letters, err := ws.Store.Letters(c.Context(), a.ID, f)
			if err != nil {
				return err
			}
			out := mailbox{owner: a, names: map[id.Agent]string{"": you, id.Kernel: kernelName}}
			for _, l := range letters {
				if _, known := out.names[l.From]; !known {
					sender, err := ws.Store.Agent(c.Context(), l.From)
					if err != nil {
						return err
					}
					out.names[l.From] = sender.Label()
				}
			}
			out.letters = letters
			return l.Print(out)
		},
	}
	c.Flags().BoolVar(&unread, "unread", false, "only letters that wait")
	c.Flags().StringVar(&from, "from", "", "only from this agent, or from `you`")
	c.RegisterFlagCompletionFunc("from", l.CompleteAgents(1<<30))
	return c
}

// mailbox is the datum of mail.
type mailbox struct {
	owner   agent.Agent
	letters []mail.Letter
	names   map[id.Agent]string
}

func (m mailbox) MarshalJSON() ([]byte, error) {
	list := make([]public.Letter, len(m.letters))
	for i, l := range m.letters {
		list[i] = public.FormatLetter(l)
	}
	return public.Marshal(map[string]any{"letters": list})
}

func (m mailbox) Text(w *printer.Writer) {
	if len(m.letters) == 0 {
		w.Line("no mail for %s", m.owner.Label())
		return
	}
	rows := [][]string{{"N", "STATE", "FROM", "AGE", "TEXT"}}
	for _, l := range m.letters {
		state := "read"
		if l.Unread() {
			state = "unread"
		}
		rows = append(rows, []string{fmt.Sprint(l.Number), state, m.names[l.From], w.Age(l.CreatedAt), text.Line(l.Body, 60)})
	}
	w.Table(rows)
}

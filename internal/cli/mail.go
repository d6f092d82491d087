package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/mail"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
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
			l, err := ws.Send(c.Context(), registry.Send{From: sender, Claim: agent.Passing(), To: to.ID, Body: body})
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

func (s *session) sender(c *cobra.Command, ws Workspace, ref string) (id.Agent, error) {
	if ref == you {
		return "", nil
	}
	a, err := agent.Find(c.Context(), ws, ref)
	return a.ID, err
}

// sent is the datum of send.
type sent struct {
	letterShape
	label string
}

func (d sent) Text(w *printer.Writer) { w.Line("letter %d to %s", d.Number, d.label) }

func (s *session) mailCommand() *cobra.Command {
	var unread bool
	var from string
	c := &cobra.Command{
		Use:   "mail [AGENT]",
		Short: "List an agent's mailbox, unread first; marks nothing",
		Args:  arguments(0, 1), ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := s.findOr0(c.Context(), args)
			if err != nil {
				return err
			}
			f := mail.Filter{Unread: unread}
			if c.Flags().Changed("from") {
				sender, err := s.sender(c, ws, from)
				if err != nil {
					return err
				}
				f.From = &sender
			}
			letters, err := ws.Letters(c.Context(), a.ID, f)
			if err != nil {
				return err
			}
			out := mailbox{owner: a, names: map[id.Agent]string{"": you}}
			for _, l := range letters {
				if _, known := out.names[l.From]; !known {
					sender, err := ws.Agent(c.Context(), l.From)
					if err != nil {
						return err
					}
					out.names[l.From] = sender.Label()
				}
			}
			out.letters = letters
			return s.print(out)
		},
	}
	c.Flags().BoolVar(&unread, "unread", false, "only letters that wait")
	c.Flags().StringVar(&from, "from", "", "only from this agent, or from `you`")
	c.RegisterFlagCompletionFunc("from", s.completeAgents(1<<30))
	return c
}

// mailbox is the datum of mail.
type mailbox struct {
	owner   agent.Agent
	letters []mail.Letter
	names   map[id.Agent]string
}

func (m mailbox) MarshalJSON() ([]byte, error) {
	list := make([]letterShape, len(m.letters))
	for i, l := range m.letters {
		list[i] = shapeLetter(l)
	}
	return marshal(map[string]any{"letters": list})
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

func (s *session) readCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "read AGENT [N]",
		Short:             "Read a letter: number N, or the oldest that waits",
		Long:              "Read a letter of an agent's mailbox and mark it as read: number N, or the oldest\nunread one.",
		Args:              arguments(1, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			var number int64
			if len(args) == 2 {
				n, err := strconv.ParseInt(args[1], 10, 64)
				if err != nil || n < 1 {
					return fault.New(fault.InvalidID, "%q is not the number of a letter", args[1]).WithHint("`ramet mail` lists them")
				}
				number = n
			}
			ws, a, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			l, ok, err := ws.Read(c.Context(), registry.Read{Owner: a.ID, Number: number})
			if err != nil {
				return err
			}
			out := letterRead{owner: a.Label(), from: you}
			if ok {
				shape := shapeLetter(l)
				out.Letter = &shape
				if l.From != "" {
					sender, err := ws.Agent(c.Context(), l.From)
					if err != nil {
						return err
					}
					out.from = sender.Label()
				}
			}
			return s.print(out)
		},
	}
}

// letterRead is the datum of read.
type letterRead struct {
	Letter      *letterShape `json:"letter"`
	owner, from string
}

func (d letterRead) Text(w *printer.Writer) {
	if d.Letter == nil {
		w.Line("no unread mail for %s", d.owner)
		return
	}
	w.Line("%v", w.Dim(fmt.Sprintf("letter %d from %s, %s", d.Letter.Number, d.from, d.Letter.CreatedAt)))
	w.Block("", d.Letter.Body)
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func mailCommand(l *Line) *cobra.Command {
	var unread, hidden bool
	var from, match string
	var gone []int
	c := &cobra.Command{
		Use:   "mail [AGENT]",
		Short: "List an agent's mailbox, unread first, or delete letters; marks nothing",
		Long: `List an agent's mailbox (agent 0's if none is named), unread first: all letters, or
those that --unread, --from and --match choose. Nothing is marked as read.

--delete N takes letter N out of the lists; its text stays in the histories that have
it, and --deleted lists it again.`,
		Args: CheckArguments(0, 1), ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			if len(gone) > 0 {
				if unread || hidden || match != "" || c.Flags().Changed("from") {
					return fault.New(fault.Usage, "mail: --delete takes numbers, and nothing else chooses letters then").WithHint("list them first, then delete them by their numbers")
				}
				return deleteLetters(l, c.Context(), ws, a, gone)
			}
			f := mail.Filter{Unread: unread, Deleted: hidden}
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
			letters = slices.DeleteFunc(letters, func(one mail.Letter) bool {
				return match != "" && !strings.Contains(strings.ToLower(one.Body), strings.ToLower(match))
			})
			out := mailbox{owner: a, names: map[id.Agent]string{"": operation.You, id.Kernel: kernelName}}
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
	c.Flags().StringVar(&from, "from", "", "only from this agent, or from you")
	c.Flags().StringVar(&match, "match", "", "only letters that hold these words")
	c.Flags().BoolVar(&hidden, "deleted", false, "those that were deleted too")
	c.Flags().IntSliceVar(&gone, "delete", nil, "delete letter `N`; repeats")
	c.RegisterFlagCompletionFunc("from", l.CompleteAgents(1<<30))
	return c
}

// kernelName is what ramet itself is called as a sender of notices.
const kernelName = "the kernel"

// sender is the agent that a word names; nil: the user.
func sender(ctx context.Context, ws *session.Workspace, ref string) (*agent.Agent, error) {
	if ref == operation.You {
		return nil, nil
	}
	a, err := ws.Find(ctx, ref)
	return &a, err
}

// deleteLetters takes letters out of the lists: all of them, or, if one is unknown, none.
func deleteLetters(l *Line, ctx context.Context, ws *session.Workspace, a agent.Agent, numbers []int) error {
	letters, err := ws.Store.Letters(ctx, a.ID, mail.Filter{})
	if err != nil {
		return err
	}
	out := deleted{Agent: a.ID, Letters: []int64{}}
	for _, number := range numbers {
		n := int64(number)
		if !slices.ContainsFunc(letters, func(one mail.Letter) bool { return one.Number == n }) {
			return fault.New(fault.NotFound, "%s has no letter %d", a.Label(), n).WithHint("`ramet mail %s` lists them; nothing was deleted", a.Label())
		}
	}
	for _, number := range numbers {
		n := int64(number)
		if slices.Contains(out.Letters, n) {
			continue
		}
		if err := ws.Hide(ctx, a.ID, n); err != nil {
			return err
		}
		out.Letters = append(out.Letters, n)
	}
	return l.Print(out)
}

// deleted is the datum of mail --delete.
type deleted struct {
	Agent   id.Agent `json:"agent_uuid"`
	Letters []int64  `json:"deleted"`
}

func (d deleted) Text(w *printer.Writer) {
	for _, n := range d.Letters {
		w.Line("letter %d is deleted", n)
	}
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
		if !l.DeletedAt.IsZero() {
			state = "deleted"
		}
		rows = append(rows, []string{fmt.Sprint(l.Number), state, m.names[l.From], w.Age(l.CreatedAt), text.Line(l.Body, 60)})
	}
	w.Table(rows)
}

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

func readCommand(l *Line) *cobra.Command {
	var peek bool
	c := &cobra.Command{
		Use:   "read AGENT [N]",
		Short: "Read a letter: number N, or the oldest that waits",
		Long: `Read a letter of an agent's mailbox and mark it as read: number N, or the oldest
unread one. --peek marks nothing: the agent will find it unread.`,
		Args:              CheckArguments(1, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			var number int64
			if len(args) == 2 {
				n, err := strconv.ParseInt(args[1], 10, 64)
				if err != nil || n < 1 {
					return fault.New(fault.InvalidID, "%q is not the number of a letter", args[1]).WithHint("`ramet mail` lists them")
				}
				number = n
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			read := ws.Read
			if peek {
				read = ws.Peek
			}
			letter, ok, err := read(c.Context(), a, number)
			if err != nil {
				return err
			}
			out := letterRead{owner: a.Label(), from: operation.You}
			if ok {
				shape := public.FormatLetter(letter)
				out.Letter = &shape
				if letter.From == id.Kernel {
					out.from = kernelName
				} else if letter.From != "" {
					sender, err := ws.Store.Agent(c.Context(), letter.From)
					if err != nil {
						return err
					}
					out.from = sender.Label()
				}
			}
			return l.Print(out)
		},
	}
	c.Flags().BoolVar(&peek, "peek", false, "mark nothing")
	return c
}

// letterRead is the datum of read.
type letterRead struct {
	Letter      *public.Letter `json:"letter"`
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

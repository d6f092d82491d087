package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func diffCommand(l *Line) *cobra.Command {
	var numbers bool
	c := &cobra.Command{
		Use:   "diff AGENT [ID [ID]]",
		Short: "Show how an agent's files changed",
		Long: `Show how the files of an agent's folder changed, whoever changed them: since its last
turn began; with an ID, since that message was written; with two, between them.`,
		Args:              CheckArguments(1, 3),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			var ids [2]id.Message
			for i, arg := range args[1:] {
				var err error
				if ids[i], err = id.ParseMessage(arg); err != nil {
					return err
				}
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			changes, err := ws.Files().DiffFiles(c.Context(), a, ids[0], ids[1])
			if err != nil {
				return err
			}
			return l.Print(changeList{session.ShowChanges(changes), numbers})
		},
	}
	c.Flags().BoolVar(&numbers, "line-numbers", false, "put the number of each line before it")
	return c
}

// changeList is the datum of diff.
type changeList struct {
	public.FileChanges
	numbers bool
}

// Text of changes: diffs, and a line for each that has none.
func (d changeList) Text(w *printer.Writer) {
	if len(d.Changes) == 0 {
		w.Line("no file changed")
		return
	}
	for _, c := range d.Changes {
		if c.Diff == "" || c.Note != "" {
			note := ""
			if c.Note != "" {
				note = " (" + c.Note + ")"
			}
			w.Line("%s %s%v", c.Verb, text.Name(c.Path), w.Dim(note))
		}
		lines := strings.Lines(c.Diff)
		if d.numbers {
			lines = numberedFiles(c.Diff)
		}
		for l := range lines {
			w.Line("%s", text.Safe(strings.TrimSuffix(l, "\n")))
		}
	}
}

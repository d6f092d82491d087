package history

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/chain"
	"ramet/internal/cli/line"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/public"
	"ramet/internal/text"
)

func exportCommand(l *line.Line) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "export [AGENT]",
		Short: "Write an agent's context as JSON lines or Markdown",
		Long: `Write the context of an agent (agent 0 if none is named) to standard output.
jsonl has one object a line, of the same shape as log --json; md is for people.`,
		Args:              line.Arguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if format != "jsonl" && format != "md" {
				return fault.New(fault.Usage, "export: unknown format %q", format).WithHint("use jsonl or md")
			}
			ctx := c.Context()
			ws, a, err := l.FindOr0(ctx, args)
			if err != nil {
				return err
			}
			if format == "md" && !l.JSON {
				fmt.Fprintf(l.Stdout, "# Agent %s\n\n%s, %s, %s in the context.\n", a.Label(), a.ID, a.Status,
					text.Count(int(a.Total), "message"))
			}
			return ws.Store.View(ctx, func(log history.Log) error {
				for e, err := range history.Play(ctx, log, a.ID) {
					if err != nil {
						return err
					}
					shape, err := public.ReadEntry(e, true, func(h chain.Hash) ([]byte, error) { return ws.Store.Blob(ctx, h) })
					if err != nil {
						return err
					}
					if err := exportEntry(l, shape, format); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl or md")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "md"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func exportEntry(l *line.Line, e public.Entry, format string) error {
	if format == "md" && !l.JSON {
		return markdown(l, e)
	}
	p := l.Printer()
	p.JSON = true
	return p.PrintLine(entry{e})
}

func markdown(l *line.Line, e public.Entry) error {
	var b strings.Builder
	by := e.Permitted()
	if by != "" {
		by = " · " + by
	}
	fmt.Fprintf(&b, "\n## %s\n\n<sub>message %d, %s%s</sub>\n", e.Kind, e.ID, e.CreatedAt, by)
	for _, p := range e.Parts {
		switch p.Type {
		case history.Text:
			fmt.Fprintf(&b, "\n%s\n", p.Text)
		case history.ToolCall:
			fmt.Fprintf(&b, "\n%s\n", fence("json", fmt.Sprintf("%s %s", p.Name, p.Args)))
		case history.Result:
			fmt.Fprintf(&b, "\n%s\n", fence("", p.Text))
		case history.Image, history.Document:
			fmt.Fprintf(&b, "\n(%s, %s, %d bytes)\n", p.Type, p.MediaType, len(p.Data))
		}
	}
	_, err := fmt.Fprint(l.Stdout, text.Safe(b.String()))
	return err
}

// fence quotes a text so that no line of it can end the quotation.
func fence(language, s string) string {
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + marks
}

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

func instructionsCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "instructions [AGENT]",
		Short: "Print the instructions that stand before an agent, and where they are from",
		Long: `Print what stands before the conversation of an agent (agent 0 if none is named), in
the order in which its model reads it: your own AGENTS.md, beside your configuration;
then, from the project's folder down to the agent's, of each folder the first that was
accepted of AGENTS.override.md, AGENTS.md, CLAUDE.md, with what they import (@path).
Those of folders below join a conversation when a tool first reads or changes a file
there. All of it is at most 128 KiB.

What a project says counts only in the bytes that you accepted (ramet trust).

` + ExitHelp(),
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ws, a, err := l.FindOr0(c.Context(), args)
			if err != nil {
				return err
			}
			shape, err := ws.Project().ShowInstructions(a)
			if err != nil {
				return err
			}
			return l.Print(instructions{shape})
		},
	}
}

// instructions is the datum of the command.
type instructions struct{ public.Instructions }

func (d instructions) Text(w *printer.Writer) {
	for _, t := range d.Texts {
		from := t.From
		if t.ImportedBy != nil {
			from += ", imported by " + *t.ImportedBy
		}
		w.Line("== %s (%s, %s)", from, t.Scope, text.Count(t.Size, "byte"))
		for line := range strings.Lines(strings.TrimSpace(t.Text)) {
			w.Line("%s", strings.TrimRight(line, "\r\n"))
		}
		w.Line("")
	}
	if len(d.Texts) == 0 {
		w.Line("no instructions stand before this agent")
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}

package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/core/history"
)

func appendMessageCommand(l *Line) *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "append AGENT TEXT|-",
		Short: "Write one message without a model; print its id",
		Long: `Write one message to the end of an agent's history, without a model, and print
its id. It is on the disk when the id is printed. TEXT - reads standard input.`,
		Args:              CheckArguments(2, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := history.ParseWritable(kind)
			if err != nil {
				return err
			}
			text, err := l.Text(args[1])
			if err != nil {
				return err
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return writtenHistory(l)(ws.History().Append(c.Context(), a, k, text))
		},
	}
	c.Flags().StringVar(&kind, "kind", "user", "user, assistant, system, tool_result or note")
	c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(
		[]string{"user", "assistant", "system", "tool_result", "note"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

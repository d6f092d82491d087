package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/printer"
)

func (s *session) appendCommand() *cobra.Command {
	var kind string
	c := &cobra.Command{
		Use:   "append AGENT TEXT|-",
		Short: "Write one message without a model; print its id",
		Long: `Write one message to the end of an agent's history, without a model, and print
its id. It is on the disk when the id is printed. TEXT - reads standard input.`,
		Args:              arguments(2, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			k, err := history.ParseWritable(kind)
			if err != nil {
				return err
			}
			text, err := s.text(args[1])
			if err != nil {
				return err
			}
			draft, err := history.Say(k, text)
			if err != nil {
				return err
			}
			return s.append(c, args[0], draft)
		},
	}
	c.Flags().StringVar(&kind, "kind", "user", "user, assistant, system, tool_result or note")
	c.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(
		[]string{"user", "assistant", "system", "tool_result", "note"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// append writes one entry and prints its id.
func (s *session) append(c *cobra.Command, ref string, draft history.Draft) error {
	ws, a, err := s.findToWrite(c.Context(), ref)
	if err != nil {
		return err
	}
	entries, err := ws.Append(c.Context(), a.ID, agent.Passing(), draft)
	if err != nil {
		return err
	}
	e := entries[0]
	return s.print(written{ID: e.ID, AgentUUID: e.Agent, Kind: e.Kind, CreatedAt: stamp(e.CreatedAt), Hash: e.Hash.String()})
}

// written is the datum of commands that add one entry.
type written struct {
	ID        id.Message   `json:"id"`
	AgentUUID id.Agent     `json:"agent_uuid"`
	Kind      history.Kind `json:"kind"`
	CreatedAt string       `json:"created_at"`
	Hash      string       `json:"hash"`
}

func (d written) Text(w *printer.Writer) { w.Line("%d", int64(d.ID)) }

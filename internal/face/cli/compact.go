package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

func compactCommand(l *Line) *cobra.Command {
	var model string
	c := &cobra.Command{
		Use:   "compact [AGENT]",
		Short: "Replace the older part of a context by a summary",
		Long: `Ask the agent's model for a summary of all but the newest messages of its context
(agent 0 if none is named), and let it stand in their place. Nothing is lost: the
messages stay in the history, and a rewind to before the compaction undoes it.`,
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			var ref llm.Ref
			if c.Flags().Changed("model") {
				var err error
				if ref, err = catalog.Parse(model); err != nil {
					return err
				}
			}
			ctx := c.Context()
			ws, a, err := l.FindOr0(ctx, args)
			if err != nil {
				return err
			}
			now, err := ws.Turns().Compact(ctx, a, ref)
			if err != nil {
				return err
			}
			return l.Print(compacted{a.ID, a.Total, now.Total})
		},
	}
	c.Flags().StringVar(&model, "model", "", "vendor/name of the model that writes the summary")
	c.RegisterFlagCompletionFunc("model", l.CompleteModels)
	return c
}

// compacted is the datum of compact.
type compacted struct {
	AgentUUID id.Agent `json:"agent_uuid"`
	Before    int64    `json:"messages_before"`
	After     int64    `json:"messages_after"`
}

func (d compacted) Text(w *printer.Writer) {
	w.Line("%s became %s", text.Count(int(d.Before), "message"), text.Count(int(d.After), "message"))
}

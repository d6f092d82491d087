package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func effortCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "effort [AGENT] [EFFORT]",
		Short: "Show or choose how hard an agent's model thinks",
		Long: `Show how hard the model of an agent (agent 0 if none is named) thinks, or choose it:
none, minimal, low, medium, high, xhigh, max; default is what ` + "`ramet models`" + ` shows for
the model, or the setting effort. A model that does not know a word gets its nearest one.

The choice holds from the agent's next turn on, and for the children that are forked
after it.

` + ExitHelp(),
		Args: CheckArguments(0, 2),
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return llm.Efforts(), cobra.ShellCompDirectiveNoFileComp
			}
			return l.CompleteAgents(1)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ref := "0"
			if len(args) > 0 {
				ref = args[0]
			}
			ws, a, err := l.Find(c.Context(), ref)
			if err != nil && len(args) == 1 {
				if meant(err, args[0], llm.Efforts()) { // effort high is for agent 0
					args = []string{"0", args[0]}
					ws, a, err = l.Find(c.Context(), "0")
				}
			}
			if err != nil {
				return err
			}
			if len(args) == 2 {
				chosen, err := readEffort(args[1])
				if err != nil {
					return err
				}
				if err := ws.Models().SetEffort(c.Context(), a, chosen); err != nil {
					return err
				}
			}
			found, err := ws.Models().Effort(c.Context(), a)
			if err != nil {
				return err
			}
			return l.Print(formatEffort(a.ID, found))
		},
	}
}

// parseEffort reads the flag of that name; empty: it was not given.
func parseEffort(c *cobra.Command, said string) (llm.Effort, error) {
	if !c.Flags().Changed("effort") {
		return "", nil
	}
	return readEffort(said)
}

// readEffort reads what a person says; nothing is none.
func readEffort(said string) (llm.Effort, error) {
	e, err := llm.ParseEffort(said)
	if err == nil && e != "" {
		return e, nil
	}
	return "", fault.New(fault.Usage, "%.40q is no effort", said).
		WithHint("%s", text.NearestHint(said, llm.Efforts(), "one of "+strings.Join(llm.Efforts(), ", ")))
}

// effortShape is the datum of effort.
type effortShape struct {
	Agent  id.Agent  `json:"agent_uuid"`
	Effort *string   `json:"effort"` // null: the model is not asked to think
	Of     *id.Agent `json:"of"`     // who was told; null: nobody
	From   string    `json:"from"`   // agent, setting or model
}

func formatEffort(a id.Agent, e session.Effort) effortShape {
	out := effortShape{Agent: a, Effort: public.Optional(string(e.Word)), Of: public.Optional(e.Of), From: "model"}
	switch {
	case e.Of != "":
		out.From = "agent"
	case e.Set:
		out.From = "setting"
	}
	return out
}

func (e effortShape) Text(w *printer.Writer) {
	word := "the model is not asked to think"
	if e.Effort != nil {
		word = *e.Effort
	}
	switch {
	case e.From == "setting":
		w.Line("%s (the setting effort)", word)
	case e.From == "model":
		w.Line("%s (usual for its model)", word)
	case *e.Of != e.Agent:
		w.Line("%s (of %s)", word, e.Of.Short())
	default:
		w.Line("%s", word)
	}
}

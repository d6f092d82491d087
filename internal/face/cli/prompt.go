package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation/session"
)

// sets are tools that agents have, by who has them.
var sets = map[string]string{
	"person": "bash read write edit glob grep fetch job plan ask fork kill send read_mail wait ps look diff merge recall",
	"alone":  "bash read write edit glob grep fetch job read_mail recall children",
	"worker": "bash read write edit glob grep recall",
	"bare":   "",
}

func promptCommand(l *Line) *cobra.Command {
	return parent("prompt", "Show what agents are told before everything else", `Agents are told a few texts before everything else. A file of the same name in the
folder prompts beside your configuration (ramet config path) takes the place of one,
such as prompts/base.md.`, promptShow(l))
}

func promptShow(l *Line) *cobra.Command {
	var tools, to string
	var c *cobra.Command
	c = l.command("show [NAME]", "Show one prompt, or all that an agent is told", `Show the prompt of that name (`+strings.Join(session.PromptNames(), ", ")+`), or all that an agent is told:
a person's agent and its children (--for person), a child that knows only its task
(alone), a worker of a run (worker), one without tools (bare), or one with the tools that --tools lists.`, 0, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		folder := l.Prompts()
		if len(args) == 1 {
			text, err := folder.Text(args[0])
			return promptText{text, len(text), string(folder)}, err
		}
		list, ok := sets[to]
		if !ok {
			return nil, fault.New(fault.Usage, "--for %.40q is not a kind of agent", to).WithHint("use person, alone, worker or bare")
		}
		if c.Flags().Changed("tools") {
			list = strings.ReplaceAll(tools, ",", " ")
		}
		text, err := folder.System(strings.Fields(list))
		return promptText{text, len(text), string(folder)}, err
	})
	c.ValidArgsFunction = cobra.FixedCompletions(session.PromptNames(), cobra.ShellCompDirectiveNoFileComp)
	c.Flags().StringVar(&to, "for", "person", "who is told it: person, alone, worker or bare")
	c.Flags().StringVar(&tools, "tools", "", "the tools of the agent, with commas between them")
	return c
}

// promptText is the datum of prompt show.
type promptText struct {
	Prompt string `json:"prompt"`
	Bytes  int    `json:"bytes"`
	Folder string `json:"folder"` // whose files take the place of ours
}

func (p promptText) Text(w *printer.Writer) { w.Line("%s", p.Prompt) }

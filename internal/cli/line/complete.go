package line

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
)

// completeWithin is how long a shell is kept waiting for names: less than a command waits for
// a server that is away.
const completeWithin = 2 * time.Second

// CompleteAgents completes the first n arguments with names and ids of agents.
func (l *Line) CompleteAgents(n int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
		defer cancel()
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		list, err := ws.Store.Agents(ctx, agent.Filter{Brief: true})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for _, a := range list {
			name := a.Name
			if a.IsZero() {
				name = "0"
			}
			if name == "" {
				name = string(a.ID)
			}
			out = append(out, name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

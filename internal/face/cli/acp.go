package cli

import (
	"context"

	"github.com/spf13/cobra"

	"ramet/internal/operation/session"
)

func acpCommand(l *Line, serve func(context.Context, ACPService) error) *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Be the agent of an editor that speaks the Agent Client Protocol",
		Long: `Speak the Agent Client Protocol on standard input and output, for editors such as Zed,
JetBrains IDEs and Neovim. A session is an agent of the workspace of its folder: a new
one begins with an empty context, and any that lives can be loaded, resumed and forked;
"ramet ps" and every other command see them. Closing a session stops its turn and leaves
the agent.

The editor's user is asked about calls that no rule permits, chooses mode, model and
effort, and sees differences, plans and thoughts. MCP servers that the editor names are
started confined. When the editor closes the pipe, what is under way ends; if "ramet
serve" holds the workspace, it goes on there.

In Zed's settings:

  "agent_servers": {"ramet": {"command": "ramet", "args": ["acp"]}}`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), ACPService{In: l.Stdin, Out: l.Stdout, User: l.User(), Dir: l.Dir, Log: l.Note,
				Place: func(dir string) (string, error) {
					place, err := l.Session.In(dir).Place()
					return place.DB, err
				},
				Open: func(ctx context.Context, dir string, k session.Kernel) (*session.Workspace, func(), error) {
					return openAt(ctx, l, dir, k)
				}})
		},
	}
}

// openAt opens the workspace of a folder, with a kernel.
func openAt(ctx context.Context, l *Line, dir string, k session.Kernel) (*session.Workspace, func(), error) {
	s := l.Session.In(dir)
	closed := func() {
		if err := s.Close(); err != nil {
			l.Note(err.Error())
		}
	}
	ws, err := s.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	k.Attended = true
	if err := ws.Start(ctx, k); err != nil {
		closed()
		return nil, nil, err
	}
	return ws, closed, nil
}

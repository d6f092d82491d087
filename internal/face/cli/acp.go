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
started confined. The agents run in the background kernel, which the command starts: they
continue when the editor closes.

In Zed's settings:

  "agent_servers": {"ramet": {"command": "ramet", "args": ["acp"]}}`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), ACPService{In: l.Stdin, Out: l.Stdout, User: l.User(), Dir: l.Dir, Log: l.Note,
				Place: func(dir string) (string, error) {
					place, err := l.Session.In(dir).Place()
					return place.DB, err
				},
				Open: func(ctx context.Context, dir string, k session.Kernel) (*session.Workspace, bool, func(), error) {
					return openAt(ctx, l, dir, k)
				}})
		},
	}
}

// openAt opens the workspace of a folder, with a kernel: that of this process, which stays, or one of its own.
func openAt(ctx context.Context, l *Line, dir string, k session.Kernel) (w *session.Workspace, stays bool, closed func(), err error) {
	s := l.Session.In(dir)
	closed = func() {
		if err := s.Close(); err != nil {
			l.Note(err.Error())
		}
	}
	if w, err = s.Open(ctx); err != nil || s.Held() {
		return w, true, closed, err
	}
	k.Attended = true
	if err := w.Start(ctx, k); err != nil {
		closed()
		return nil, false, nil, err
	}
	return w, false, closed, nil
}

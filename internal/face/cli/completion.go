package cli

import (
	"context"
	_ "embed"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/operation/session"
)

// lineAlone stands in for what the script for bash takes from the package bash-completion, where that is not
// installed: macOS and many images have none, and each Tab would print an error.
//
//go:embed alone.bash
var lineAlone string

// AddCompletion adds the commands that print scripts for shells, which refuse
// arguments as all others do.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = UnknownCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = CheckArguments(0, 0)
			if shell.Name() == "bash" {
				standAlone(shell)
			}
		}
	}
}

func standAlone(bash *cobra.Command) {
	print := bash.RunE
	bash.RunE = func(c *cobra.Command, args []string) error {
		if _, err := io.WriteString(c.OutOrStdout(), lineAlone); err != nil {
			return err
		}
		return print(c, args)
	}
}

// completeWithin limits the time to complete names for a shell: less than a command waits for
// a server that is away.
const completeWithin = 2 * time.Second

func (l *Line) complete(c *cobra.Command, words func(context.Context, *session.Workspace) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
	defer cancel()
	ws, err := l.Open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	out, err := words(ctx, ws)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// CompleteModels completes with the models that can be used.
func (l *Line) CompleteModels(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return l.complete(c, func(_ context.Context, ws *session.Workspace) (out []string, _ error) {
		for _, m := range ws.Models().Usable() {
			out = append(out, m.Ref.String())
		}
		return out, nil
	})
}

// CompleteDrivers completes with the programs that can drive agents, and ramet itself.
func (l *Line) CompleteDrivers(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return l.complete(c, func(ctx context.Context, ws *session.Workspace) (out []string, _ error) {
		for _, d := range ws.Programs().Drivers(ctx, false).Drivers {
			out = append(out, d.Name)
		}
		return append(out, session.Own), nil
	})
}

// CompleteLabels completes with the labels of the marks of an agent, which is the first argument.
func (l *Line) CompleteLabels(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return l.complete(c, func(ctx context.Context, ws *session.Workspace) ([]string, error) {
		a, err := agent.Find(ctx, ws.Store, args[0])
		if err != nil {
			return nil, err
		}
		return ws.Agents().Labels(ctx, a.ID)
	})
}

// CompleteTrash completes with the ids of items in the trash.
func (l *Line) CompleteTrash(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return l.complete(c, func(ctx context.Context, ws *session.Workspace) (out []string, _ error) {
		all, err := ws.Care().ShowTrash(ctx)
		for _, i := range all.Items {
			out = append(out, i.ID+"\t"+text.Name(i.Path))
		}
		return out, err
	})
}

// CompleteAgents completes the first n arguments with names and ids of agents.
func (l *Line) CompleteAgents(n int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return l.complete(c, func(ctx context.Context, ws *session.Workspace) (out []string, _ error) {
			list, err := ws.Store.Agents(ctx, agent.Filter{Brief: true})
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
			return out, err
		})
	}
}

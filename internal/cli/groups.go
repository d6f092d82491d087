package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/cli/agents"
	"ramet/internal/cli/care"
	"ramet/internal/cli/files"
	"ramet/internal/cli/history"
	"ramet/internal/cli/ledger"
	"ramet/internal/cli/line"
	"ramet/internal/cli/mail"
	"ramet/internal/cli/mcp"
	"ramet/internal/cli/models"
	"ramet/internal/cli/runs"
	"ramet/internal/session"
)

// group is a part of the help screen. Its commands are made when they are needed: all of
// them, with their flags, cost a start more than most commands do.
type group struct {
	id, title string
	names     string // of its commands, between spaces
	commands  func() []*cobra.Command
}

func groups(e Env, l *line.Line) []group {
	return []group{
		{"agents", "Agents:", "exec serve web acp ps show wait fork drivers merge worktree kill rename mode effort instructions skills hooks resume",
			func() []*cobra.Command {
				return append(agents.Commands(l, e.MCP.Version, func(ctx context.Context, w *session.Workspace, s agents.Service) error {
					s.Command, s.Begin = within(e, l), mcp.Begin(l, e.MCP)
					return e.Serve(ctx, w, s)
				}), resumeCommand(e, l))
			}},
		{"history", "History:", "append log clear compact mark rewind export import", func() []*cobra.Command { return history.Commands(l) }},
		{"files", "Files:", "files diff restore undo trash", func() []*cobra.Command { return files.Commands(l) }},
		{"mail", "Mail:", "send mail read", func() []*cobra.Command { return mail.Commands(l) }},
		{"proof", "Proof and care:", "verify checkpoint key redact gc backup", func() []*cobra.Command { return care.Proof(l) }},
		{"runs", "Runs:", "run worker schema", func() []*cobra.Command { return runs.Commands(l, e.Runs) }},
		{"ledger", "Ledger:", "track", func() []*cobra.Command { return ledger.Commands(l) }},
		{"models", "Models:", "models auth usage", func() []*cobra.Command { return models.Commands(l, e.Models) }},
		{"mcp", "Tools from elsewhere and for others:", "mcp", func() []*cobra.Command { return mcp.Commands(l, e.MCP.With(within(e, l))) }},
		{"", "", "config rules prompt trust doctor demo", func() []*cobra.Command { return care.Rest(l, e.Care) }},
		{"", "", "version", func() []*cobra.Command { return care.About(l, e.Care) }},
	}
}

// needed are the groups that a command line may mean: that of the command it begins with,
// or all where it begins with a flag, asks for help or names nothing that there is.
func needed(all []group, args []string) []group {
	if len(args) == 0 {
		return all
	}
	for i, g := range all {
		if slices.Contains(strings.Fields(g.names), args[0]) {
			return all[i : i+1]
		}
	}
	return all
}

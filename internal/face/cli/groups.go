package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/operation"
)

// group is a part of the help screen. Its commands are made when they are needed: all of
// them, with their flags, cost a start more than most commands do.
type group struct {
	id, title string
	names     string // of its commands, between spaces
	commands  func() []*cobra.Command
}

func groups(e Env, l *Line) []group {
	e.Care.Background = e.Servers.Background
	few := func(commands ...*cobra.Command) []*cobra.Command { return commands }
	all := []group{
		{"agents", "Agents:", "exec serve web acp fork worktree kill resume server service ps ls list agents",
			func() []*cobra.Command {
				return few(execCommand(l), serveHTTPCommand(l, e.Servers), webCommand(l, e.Servers), acpCommand(l, e.Servers.ACP), forkAgentCommand(l), worktreeCommand(), killCommand(l),
					resumeCommand(e, l), serverCommand(e, l), serviceCommand(l), addAllProjects(e, l, l.Command(&operation.Ps)))
			}},
		{"history", "History:", "export import", func() []*cobra.Command { return few(exportHistoryCommand(l), importHistoryCommand(l)) }},
		{"files", "Files:", "", func() []*cobra.Command { return nil }},
		{"mail", "Mail:", "mail", func() []*cobra.Command { return few(mailCommand(l)) }},
		{"proof", "Verification and maintenance:", "verify key", func() []*cobra.Command { return few(verifyStoreCommand(l), keyCommand(l)) }},
		{"runs", "Runs:", "run worker schema", func() []*cobra.Command {
			return few(runsCommand(l, e.Runs), workerCommand(l, e.Runs), schemaCommand(l, e.Runs.OpenAPI))
		}},
		{"ledger", "Ledger:", "track", func() []*cobra.Command { return few(trackCommand(l)) }},
		{"models", "Models:", "models auth", func() []*cobra.Command { return few(modelsCommand(l, e.Models), authCommand(l, e.Models)) }},
		{"mcp", "MCP:", "mcp", func() []*cobra.Command { return few(mcpCommand(l, e.MCP.With(within(e, l)))) }},
		{"", "", "config rules prompt trust doctor demo", func() []*cobra.Command {
			return few(configCommand(l), rulesCommand(l), promptCommand(l), trustCommand(l), doctorCommand(l, e.Care), demoCommand(l, e.Care.Tour))
		}},
		{"", "", "version", func() []*cobra.Command { return few(versionCommand(l, e.Care.Version)) }},
	}
	for i := range all {
		all[i].addOperations(l)
	}
	return all
}

// addOperations adds the commands of operations that have none of their own in the group.
func (g *group) addOperations(l *Line) {
	var derived []operation.Operation
	for _, o := range operation.All() {
		if d := o.Describe(); g.id != "" && d.Group == g.id && d.Faces&operation.CLI != 0 && !slices.Contains(strings.Fields(g.names), d.Name) {
			derived = append(derived, o)
			if !strings.Contains(d.Name, " ") {
				g.names += " " + d.Name + " " + d.Aliases
			}
		}
	}
	own := g.commands
	g.commands = func() []*cobra.Command {
		out := own()
		for _, o := range derived {
			below, _, nested := strings.Cut(o.Describe().Name, " ")
			if i := slices.IndexFunc(out, func(c *cobra.Command) bool { return c.Name() == below }); nested && i >= 0 {
				out[i].AddCommand(l.Command(o))
				continue
			}
			out = append(out, l.Command(o))
		}
		return out
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

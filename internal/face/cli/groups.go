package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/operation"
)

type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups makes the commands by group: those that are written by hand, then those of the other operations.
func groups(e Env, l *Line) []group {
	e.Care.Background = e.Servers.Background
	few := func(commands ...*cobra.Command) []*cobra.Command { return commands }
	all := []group{
		{"agents", "Agents:", few(execCommand(l), serveHTTPCommand(l, e.Servers), webCommand(l, e.Servers), acpCommand(l, e.Care.Version), forkAgentCommand(l),
			parent("worktree", "List or remove the worktrees of agents", `List or remove the git worktrees that "ramet fork --worktree" made. To merge the work in
one, use "ramet merge".`), killCommand(l), resumeCommand(e, l), serverCommand(e, l), serviceCommand(l), addAllProjects(e, l, l.Command(&operation.Ps)))},
		{"history", "History:", nil},
		{"files", "Files:", nil},
		{"mail", "Mail:", few(mailCommand(l))},
		{"proof", "Verification and maintenance:", few(verifyStoreCommand(l), keyCommand(l))},
		{"runs", "Runs:", few(runsCommand(l, e.Runs), workerCommand(l, e.Runs), schemaCommand(l, e.Runs.OpenAPI))},
		{"ledger", "Ledger:", few(trackCommand(l))},
		{"models", "Models:", few(authCommand())},
		{"mcp", "MCP:", few(mcpCommand(l, e.MCP))},
		{"settings", "", few(configCommand(l), promptCommand(), doctorCommand(l, e.Care), demoCommand(l), versionCommand(l, e.Care.Version))},
	}
	for i := range all {
		all[i].addOperations(l)
	}
	return all
}

// addOperations adds the commands of operations that have none of their own in the group.
func (g *group) addOperations(l *Line) {
	named := func(name string) int {
		return slices.IndexFunc(g.commands, func(c *cobra.Command) bool { return c.Name() == name })
	}
	for _, o := range operation.All() {
		d := o.Describe()
		if d.Group != g.id || d.Faces&operation.CLI == 0 || named(d.Name) >= 0 {
			continue
		}
		above, name, nested := strings.Cut(d.Name, " ")
		if i := named(above); nested && i >= 0 {
			if own, _, err := g.commands[i].Find([]string{name}); err != nil || own == g.commands[i] {
				g.commands[i].AddCommand(l.Command(o))
			}
		} else {
			g.commands = append(g.commands, l.Command(o))
		}
	}
}

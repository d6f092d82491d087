package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/printer"
)

func (s *session) psCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "ps",
		Short: "Show the tree of agents",
		Long: `Show the tree of agents: name, short id, state, own/total messages, unread mail, age.
Children of a dead agent hang under their nearest living ancestor.`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := s.open(c.Context())
			if err != nil {
				return err
			}
			list, err := ws.Agents(c.Context(), agent.Filter{Dead: all})
			if err != nil {
				return err
			}
			if !all && orphaned(list) {
				// Only then the dead are needed, to find the way up through them.
				if list, err = ws.Agents(c.Context(), agent.Filter{Dead: true}); err != nil {
					return err
				}
			}
			show := func(a agent.Agent) bool { return all || a.Status == agent.Running }
			return s.print(tree{nodes: agent.Tree(list, show)})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "the dead too")
	return c
}

func orphaned(living []agent.Agent) bool {
	known := make(map[string]bool, len(living))
	for _, a := range living {
		known[string(a.ID)] = true
	}
	for _, a := range living {
		if !a.IsZero() && !known[string(a.Parent)] {
			return true
		}
	}
	return false
}

// tree is the datum of ps.
type tree struct {
	nodes []agent.Node
}

func (t tree) MarshalJSON() ([]byte, error) {
	list := make([]agentShape, len(t.nodes))
	for i, n := range t.nodes {
		list[i] = shapeAgent(n.Agent)
	}
	return marshal(map[string]any{"agents": list})
}

func (t tree) Text(w *printer.Writer) {
	rows := [][]string{{"NAME", "ID", "STATE", "MESSAGES", "MAIL", "AGE"}}
	branches := drawBranches(t.nodes)
	for i, n := range t.nodes {
		mail := "-"
		if n.Unread > 0 {
			mail = fmt.Sprint(n.Unread)
		}
		name := n.Label()
		if n.Name == "" && !n.IsZero() {
			name = "-"
		}
		rows = append(rows, []string{branches[i] + name, n.ID.Short(), string(n.Status),
			fmt.Sprintf("%d/%d", n.Own, n.Total), mail, w.Age(n.CreatedAt)})
	}
	w.Table(rows)
}

// drawBranches draws the lines in front of the names. Going backwards, it
// knows for each level whether a sibling follows below. Very deep trees are
// drawn flat from a level on: nobody reads a thousand bars.
func drawBranches(nodes []agent.Node) []string {
	const deepest = 32
	out := make([]string, len(nodes))
	more := map[int]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		level := min(nodes[i].Indent, deepest)
		if level > 0 {
			var b strings.Builder
			for l := 1; l < level; l++ {
				if more[l] {
					b.WriteString("│  ")
				} else {
					b.WriteString("   ")
				}
			}
			if more[level] {
				b.WriteString("├─ ")
			} else {
				b.WriteString("└─ ")
			}
			out[i] = b.String()
		}
		more[level] = true
		for l := range more {
			if l > level {
				delete(more, l)
			}
		}
	}
	return out
}

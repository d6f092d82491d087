package cli

import (
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
)

func psCommand(l *Line) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "ps",
		Short: "Show the tree of agents",
		Long: `Show the tree of agents: name, short id, state, own/total messages, unread mail, age.
States: working (thinks, writes, runs a tool, compacts), asks (for permission), waits (for mail, of whom),
idle, done (its task ended), failed (why), interrupted ("ramet exec AGENT --continue" goes on), killed.
Children of a dead agent hang under their nearest living ancestor. Of agents that other programs
drive it says whether those ask before they change anything, and what they spent: on the wire,
and as they report it.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			nodes, err := ws.List(c.Context(), all, !l.JSON)
			if err != nil {
				return err
			}
			now, err := ws.StatesAmong(c.Context(), all, nodes)
			if err != nil {
				return err
			}
			driven, err := ws.DrivenAmong(c.Context(), nodes)
			if err != nil {
				return err
			}
			return l.Print(tree{nodes, now, driven})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "the dead too")
	return c
}

// tree is the datum of ps.
type tree struct {
	nodes  []agent.Node
	now    state.Now
	driven map[id.Agent]*public.Driven // those that another program drives
}

// List makes the public shapes.
func (t tree) List() (string, iter.Seq[any]) {
	return "agents", func(yield func(any) bool) {
		one := &listed{now: &t.now} // whoever takes it writes it before it takes the next
		for _, n := range t.nodes {
			if one.Agent, one.driven = n.Agent, t.driven[n.ID]; !yield(one) {
				return
			}
		}
	}
}

// listed is an agent among many.
type listed struct {
	*agent.Agent
	now    *state.Now
	driven *public.Driven
}

// AppendJSON implements printer.Appender.
func (l *listed) AppendJSON(b []byte) ([]byte, error) {
	return public.AppendNow(b, l.Agent, l.now, l.driven)
}

func (t tree) Text(w *Writer) {
	head := []string{"NAME", "ID", "STATE", "MESSAGES", "MAIL", "AGE"}
	if len(t.driven) > 0 {
		head = append(head, "DRIVER")
	}
	rows := append(make([][]string, 0, len(t.nodes)+1), head)
	cells := make([]string, 0, len(head)*len(t.nodes)) // of all rows: one list is cheaper than thousands
	branches := drawBranches(t.nodes)
	for i, n := range t.nodes {
		mail := "-"
		if n.Unread > 0 {
			mail = strconv.FormatInt(n.Unread, 10)
		}
		name := n.Label()
		if n.Name == "" && !n.IsZero() {
			name = "-"
		}
		messages := strconv.FormatInt(n.Own, 10) + "/" + strconv.FormatInt(n.Total, 10)
		now := text.Line(t.now.Of(*n.Agent).String(), maxState)
		begin := len(cells)
		cells = append(cells, branches[i]+name, n.ID.Short(), now, messages, mail, w.Age(n.CreatedAt))
		if len(t.driven) > 0 {
			cells = append(cells, drivenText(t.driven[n.ID]))
		}
		rows = append(rows, cells[begin:len(cells):len(cells)])
	}
	w.Table(rows)
}

// drivenText is what a row says of an agent that another program drives.
func drivenText(d *public.Driven) string {
	if d == nil {
		return "-"
	}
	name := d.Driver
	if d.Asks != nil && !*d.Asks {
		name += "; asks: no"
	}
	if d.Spending == public.ReportedOnly {
		name += "; spending: " + public.ReportedOnly
	}
	if d.Wire != nil {
		name += "; " + strconv.FormatInt(d.Wire.Tokens, 10) + " tokens on the wire"
	}
	if d.Reported != nil {
		name += ", " + strconv.FormatInt(d.Reported.Tokens, 10) + " reported"
	}
	return name
}

// maxState is how much of a state stands in a row; show has all of it.
const maxState = 48

// drawBranches draws the lines in front of the names. Going backwards, it
// knows for each level whether a sibling follows below. Very deep trees are
// drawn flat from a level on: nobody reads a thousand bars.
func drawBranches(nodes []agent.Node) []string {
	const deepest = 32
	out := make([]string, len(nodes))
	var more [deepest + 1]bool
	var line []byte
	for i := len(nodes) - 1; i >= 0; i-- {
		level := min(nodes[i].Indent, deepest)
		if level > 0 {
			line = line[:0]
			for l := 1; l < level; l++ {
				if more[l] {
					line = append(line, "│  "...)
				} else {
					line = append(line, "   "...)
				}
			}
			if more[level] {
				line = append(line, "├─ "...)
			} else {
				line = append(line, "└─ "...)
			}
			out[i] = string(line)
		}
		more[level] = true
		clear(more[level+1:])
	}
	return out
}

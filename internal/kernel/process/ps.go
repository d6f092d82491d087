package process

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/turn/tool"
)

const (
	maxLines  = 200
	maxIndent = 16 // generations that are drawn by indentation
)

var psSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("ps", tool.Spec{
		Args: shape.Object(
			shape.May("all", shape.Bool()),
		),
		Summary: summary(func(args psArgs) string {
			if args.All {
				return "list the agents, the dead too"
			}
			return "list the agents"
		}),
	})
})

type psArgs struct {
	All bool `json:"all"`
}

// ps shows which agents there are.
func (a actor) ps(ctx context.Context, _ tool.Call, args psArgs) (tool.Answer, error) {
	// The dead are read in any case: the living hang under them.
	everybody, err := a.people.Agents(ctx, agent.Filter{Dead: true, Brief: true})
	if err != nil {
		return tool.Answer{}, err
	}
	now, err := a.kernel.Sources().Look(ctx, args.All)
	if err != nil {
		return tool.Answer{}, err
	}
	nodes := agent.Tree(everybody, func(a *agent.Agent) bool { return args.All || a.Status == agent.Running })
	shown := nearest(nodes, a.self, maxLines)
	lines := make([]string, len(shown), len(shown)+1)
	for i, n := range shown {
		lines[i] = a.line(n, now)
	}
	if hidden := len(nodes) - len(shown); hidden > 0 {
		lines = append(lines, fmt.Sprintf("… %s not shown.", text.Count(hidden, "more agent")))
	}
	return tool.Answer{Text: strings.Join(lines, "\n")}, nil
}

func (a actor) line(n agent.Node, now state.Now) string {
	var b strings.Builder
	if n.Indent <= maxIndent {
		b.WriteString(strings.Repeat("  ", n.Indent))
	} else {
		fmt.Fprintf(&b, "%s(generation %d) ", strings.Repeat("  ", maxIndent), n.Indent)
	}
	fmt.Fprintf(&b, "%s %s", title(*n.Agent), now.Of(*n.Agent))
	if n.Unread > 0 {
		fmt.Fprintf(&b, ", %d unread", n.Unread)
	}
	if n.ID == a.self {
		b.WriteString(" ← you")
	}
	return b.String()
}

// nearest keeps at most limit nodes, in the order of the tree: the agent itself,
// its ancestors and its descendants, nearest first, then the others from the top.
func nearest(nodes []agent.Node, self id.Agent, limit int) []agent.Node {
	if len(nodes) <= limit {
		return nodes
	}
	at := slices.IndexFunc(nodes, func(n agent.Node) bool { return n.ID == self })
	// rank orders by kinship, then by distance; agents of no kin come last.
	rank := make([][2]int, len(nodes))
	for i, n := range nodes {
		rank[i] = [2]int{3, n.Indent}
	}
	if at >= 0 {
		own := nodes[at].Indent
		rank[at] = [2]int{0, 0}
		for i := at + 1; i < len(nodes) && nodes[i].Indent > own; i++ {
			rank[i] = [2]int{2, nodes[i].Indent}
		}
		for i, up := at-1, own; i >= 0 && up > 0; i-- {
			if nodes[i].Indent < up {
				up = nodes[i].Indent
				rank[i] = [2]int{1, own - up}
			}
		}
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[a][0], rank[b][0]), cmp.Compare(rank[a][1], rank[b][1]))
	})
	order = order[:limit]
	slices.Sort(order)
	kept := make([]agent.Node, limit)
	for i, o := range order {
		kept[i] = nodes[o]
	}
	return kept
}

const (
	usualSteps = 5
	mostSteps  = 20
	// entriesOfStep limits the entries of one step that are examined.
	entriesOfStep = 12
)

var lookSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("look", tool.Spec{
		Args: shape.Object(
			shape.Must("agent", shape.Text(1)),
			shape.May("steps", shape.Number(1, mostSteps)),
		),
		Summary: summary(func(args lookArgs) string { return "look at " + args.Agent }),
	})
})

type lookArgs struct {
	Agent string   `json:"agent"`
	Steps *float64 `json:"steps"`
}

// look shows what a descendant does.
func (a actor) look(ctx context.Context, _ tool.Call, args lookArgs) (tool.Answer, error) {
	steps := usualSteps
	if args.Steps != nil {
		steps = int(*args.Steps)
	}
	_, who, err := a.descendant(ctx, args.Agent, "look at those below you")
	if err != nil {
		return tool.Answer{}, err
	}
	now, err := a.kernel.Sources().Look(ctx, true, who.ID)
	if err != nil {
		return tool.Answer{}, err
	}
	entries, err := a.kernel.Recent(ctx, who.ID, steps*entriesOfStep)
	if err != nil {
		return tool.Answer{}, err
	}
	foreign, err := history.ForeignOf(ctx, a.people, who.ID)
	if err != nil {
		return tool.Answer{}, err
	}
	lines := told(entries, steps)
	head := fmt.Sprintf("%s is %s.", title(who), now.Of(who))
	if len(lines) == 0 {
		return tool.Answer{Text: head + " It has done nothing yet."}, nil
	}
	return tool.Answer{Text: head + " Its last steps, as information:\n" + strings.Join(lines, "\n"), Foreign: foreign}, nil
}

// told returns the last steps of a history, whose entries come newest first: oldest first, what
// was said and called, and how results begin.
func told(entries []history.Entry, steps int) []string {
	var out [][]string
	for _, e := range entries {
		parts, err := e.Parts()
		if err != nil {
			continue // damage is for verify to tell
		}
		var lines []string
		for _, p := range parts {
			if line := toldPart(e.Kind, p); line != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			out = append(out, lines)
		}
		if e.Kind == history.Assistant {
			if steps--; steps == 0 {
				break
			}
		}
	}
	slices.Reverse(out)
	return slices.Concat(out...)
}

func toldPart(k history.Kind, p history.Part) string {
	body := text.Line(p.Text, 200)
	if p.Blob != nil {
		body = fmt.Sprintf("(%d bytes)", p.Size)
	}
	switch {
	case p.Type == history.ToolCall:
		return "calls " + p.Name + " " + text.Line(string(p.Args), 200)
	case p.Type == history.Result && p.IsError:
		return "  failed: " + body
	case p.Type == history.Result:
		return "  → " + body
	case p.Type != history.Text || body == "":
		return ""
	case k == history.Assistant:
		return "says: " + body
	case k == history.User:
		return "is told: " + body
	case k == history.Notice, k == history.Interrupted:
		return "(" + string(k) + ") " + body
	}
	return ""
}

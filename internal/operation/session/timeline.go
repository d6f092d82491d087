package session

import (
	"cmp"
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
)

// maxPoints bounds what is read of one agent for the view of time, besides what
// shapes its history.
const maxPoints = 1000

// Point is a place in a lineage.
type Point struct {
	Agent id.Agent
	Label string // of that agent
	ID    id.Message
	Kind  history.Kind
	Text  string // one line
	Gone  bool
	Head  bool // the newest entry of the agent that was asked for
}

// Timeline reads what shaped a lineage, behind clears too.
func (w History) Timeline(ctx context.Context, a id.Agent) ([]Point, error) {
	var points []Point
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		lineage, err := log.Lineage(ctx, a)
		if err != nil {
			return err
		}
		in, err := history.Membership(ctx, log, a)
		if err != nil {
			return err
		}
		end := history.NoLimit
		var all [][]Point // the agent's own first
		for _, step := range lineage {
			own, err := w.points(ctx, log, history.Range{Agent: step.Agent, End: end}, in)
			if err != nil {
				return err
			}
			all = append(all, own)
			end = history.UpTo(step.ForkMessage)
		}
		for _, own := range slices.Backward(all) {
			points = append(points, own...)
		}
		return nil
	})
	if n := len(points); n > 0 {
		points[n-1].Head = true
	}
	return points, err
}

func (w History) points(ctx context.Context, log history.Log, r history.Range, in func(history.Entry) bool) ([]Point, error) {
	label, err := w.label(ctx, r.Agent)
	if err != nil {
		return nil, err
	}
	var entries []history.Entry
	seen := map[id.Message]bool{}
	for _, s := range []history.Selection{{Shaping: true}, {Newest: maxPoints, Any: true}} {
		for e, err := range log.QueryRange(ctx, r, s) {
			if err != nil {
				return nil, err
			}
			if !seen[e.ID] && (e.Kind.Shapes() || e.Kind == history.User || e.Kind == history.Fork) {
				seen[e.ID] = true
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, func(a, b history.Entry) int { return cmp.Compare(a.ID, b.ID) })
	var out []Point
	for _, e := range entries {
		m, err := e.Decode()
		if err != nil {
			return nil, err
		}
		if m.Run != "" {
			continue // no matter of this conversation
		}
		p := Point{Agent: r.Agent, Label: label, ID: e.ID, Kind: e.Kind, Gone: e.Kind.Reaches() && !in(e)}
		switch e.Kind {
		case history.Fork:
			switch {
			case len(m.Children) > 0:
				names := ""
				for _, c := range m.Children {
					name, err := w.label(ctx, c)
					if err != nil {
						return nil, err
					}
					names += " " + name
				}
				p.Text = names
			case m.Parent != "":
				p.Text = label + " begins"
			default:
				p.Text = "the workspace begins"
			}
		case history.Mark:
			p.Text = m.Label
		case history.Rewind:
			p.Text = "to " + m.Target
			if m.Label != "" {
				p.Text = "to " + m.Label
			}
		case history.User, history.Compact:
			parts, err := e.Parts()
			if err != nil {
				return nil, err
			}
			p.Text = text.Line(history.Plain(parts), 200)
		}
		out = append(out, p)
	}
	return out, nil
}

// label returns what an agent is called; the beginning of its id if it is gone.
func (w History) label(ctx context.Context, of id.Agent) (string, error) {
	a, err := w.ws.Store.Agent(ctx, of)
	if fault.Is(err, fault.NotFound) {
		return of.Short(), nil
	}
	return a.Label(), err
}

package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/cli"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
	"ramet/internal/permit"
	"ramet/internal/text"
	"ramet/internal/tui"
)

// asker asks the user of the terminal about calls.
type asker struct{ questions chan tui.Question }

func newAsker() *asker { return &asker{make(chan tui.Question)} }

// Ask waits for the answer, or until the turn that asks is over.
func (a *asker) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	answer := make(chan permit.Verdict, 1)
	over := make(chan struct{})
	defer close(over)
	var once sync.Once
	asked := tui.Question{Question: q, Over: over, Answer: func(v permit.Verdict) { once.Do(func() { answer <- v }) }}
	select {
	case a.questions <- asked:
	case <-ctx.Done():
		return permit.Verdict{}, ctx.Err()
	}
	select {
	case v := <-answer:
		return v, nil
	case <-ctx.Done():
		return permit.Verdict{}, ctx.Err()
	}
}

// graveyard remembers the dead: they do not change, so they are read only when
// somebody is missing among the living.
type graveyard struct {
	mu     sync.Mutex
	read   bool
	dead   []agent.Agent
	living map[id.Agent]bool
}

// join is everybody, in the order of creation.
func (g *graveyard) join(ctx context.Context, ws cli.Workspace) ([]agent.Agent, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, err := ws.Agents(ctx, agent.Filter{})
	if err != nil {
		return nil, err
	}
	alive := make(map[id.Agent]bool, len(now))
	for _, a := range now {
		alive[a.ID] = true
	}
	missing := !g.read
	for a := range g.living {
		missing = missing || !alive[a]
	}
	if missing {
		if g.dead, err = ws.Agents(ctx, agent.Filter{OnlyDead: true}); err != nil {
			return nil, err
		}
	}
	g.read, g.living = true, alive
	all := slices.Concat(now, g.dead)
	if len(g.dead) > 0 {
		slices.SortStableFunc(all, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	}
	return all, nil
}

// Model is what a turn would use.
func (d *desk) Model(a agent.Agent, asked llm.Ref) (tui.Model, error) {
	m, err := d.kernel.Options.Model(a, asked)
	if err != nil {
		return tui.Model{}, err
	}
	out := tui.Model{Ref: m.Ref, Title: m.Info.Title, Context: m.Info.Context, BuiltIn: m.Ref.Vendor == catalog.Offline}
	switch {
	case asked != (llm.Ref{}):
		out.Why = "chosen with /model"
	case a.Model != "":
		out.Why = "the agent's own"
	case d.request.Config.Model != "":
		out.Why = "set in your configuration"
	default:
		out.Why = "the first whose key is there"
		if v, err := catalog.Find(m.Ref.Vendor); err == nil {
			if from := d.request.Keys.Access(v).KeyFrom; from != "" {
				out.Why = "because of " + from
			}
		}
	}
	return out, nil
}

// Usable lists what can be asked.
func (d *desk) Usable() []tui.Model {
	var out []tui.Model
	for _, v := range catalog.Vendors() {
		if ok, _ := d.request.Keys.Usable(v); !ok {
			continue
		}
		for _, m := range v.Table().Models {
			out = append(out, tui.Model{Ref: llm.Ref{Vendor: v.Name, Name: m.Name}, Title: m.Title, Context: m.Context, BuiltIn: v.BuiltIn})
		}
	}
	return out
}

// maxPoints bounds what is read of one agent for the view of time, besides what
// shapes its history.
const maxPoints = 1000

// Timeline reads what shaped a lineage, behind clears too.
func (d *desk) Timeline(ctx context.Context, a id.Agent) ([]tui.Point, error) {
	var points []tui.Point
	err := d.ws.View(ctx, func(log history.Log) error {
		lineage, err := log.Lineage(ctx, a)
		if err != nil {
			return err
		}
		in, err := history.Membership(ctx, log, a)
		if err != nil {
			return err
		}
		end := history.NoLimit
		var all [][]tui.Point // the agent's own first
		for _, step := range lineage {
			own, err := d.points(ctx, log, history.Range{Agent: step.Agent, End: end}, in)
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

func (d *desk) points(ctx context.Context, log history.Log, r history.Range, in func(history.Entry) bool) ([]tui.Point, error) {
	label := r.Agent.Short()
	if a, err := d.ws.Agent(ctx, r.Agent); err == nil {
		label = a.Label()
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
	var out []tui.Point
	for _, e := range entries {
		m, err := e.Decode()
		if err != nil {
			return nil, err
		}
		p := tui.Point{Agent: r.Agent, Label: label, ID: e.ID, Kind: e.Kind, Gone: e.Kind.Reaches() && !in(e)}
		switch e.Kind {
		case history.Fork:
			switch {
			case len(m.Children) > 0:
				names := ""
				for _, c := range m.Children {
					name := c.Short()
					if child, err := d.ws.Agent(ctx, c); err == nil {
						name = child.Label()
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

package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
)

// AgentList is all agents at one moment.
type AgentList struct {
	All    []agent.Agent // the living and the dead, in the order of creation
	States map[id.Agent]state.State
}

// Everybody lists all agents, and what they do.
func (w Agents) Everybody(ctx context.Context) (AgentList, error) {
	all, err := w.ws.dead.join(ctx, w.ws.Store)
	if err != nil {
		return AgentList{}, err
	}
	now, err := w.sources().Again(ctx, all, &w.ws.ends)
	if err != nil {
		return AgentList{}, err
	}
	c := AgentList{All: all, States: make(map[id.Agent]state.State, len(all))}
	for _, a := range all {
		c.States[a.ID] = now.Of(a)
	}
	return c, nil
}

// List lists agents as a tree: the living, or all. Children of the dead hang under their
// nearest living ancestor. brief reads only what a tree shows (agent.Filter).
func (w Agents) List(ctx context.Context, all, brief bool) ([]agent.Node, error) {
	list, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: all, Brief: brief})
	if err != nil {
		return nil, err
	}
	show := func(a *agent.Agent) bool { return all || a.Status == agent.Running }
	nodes := agent.Tree(list, show)
	if all || !orphaned(nodes) {
		return nodes, nil
	}
	// Only then the dead are needed, to find the way up through them.
	dead, err := w.ws.Store.Agents(ctx, agent.Filter{OnlyDead: true, Brief: true})
	if err != nil {
		return nil, err
	}
	return agent.Tree(append(list, dead...), show), nil
}

// orphaned reports whether the parent of an agent is not in the tree.
func orphaned(nodes []agent.Node) bool {
	return slices.ContainsFunc(nodes, func(n agent.Node) bool { return n.Home == "" && !n.IsZero() })
}

// dead remembers the dead: they do not change, so they are read only when an agent is
// missing among the living.
type dead struct {
	mu     sync.Mutex
	read   bool
	dead   []agent.Agent
	living map[id.Agent]bool
}

// join returns everybody, in the order of creation.
func (d *dead) join(ctx context.Context, all agent.Directory) ([]agent.Agent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, err := all.Agents(ctx, agent.Filter{})
	if err != nil {
		return nil, err
	}
	alive := make(map[id.Agent]bool, len(now))
	for _, a := range now {
		alive[a.ID] = true
	}
	missing := !d.read
	for a := range d.living {
		missing = missing || !alive[a]
	}
	if missing {
		if d.dead, err = all.Agents(ctx, agent.Filter{OnlyDead: true}); err != nil {
			return nil, err
		}
	}
	d.read, d.living = true, alive
	list := slices.Concat(now, d.dead)
	if len(d.dead) > 0 {
		slices.SortStableFunc(list, func(a, b agent.Agent) int { return cmp.Compare(a.Genesis, b.Genesis) })
	}
	return list, nil
}

// States finds out what agents do: the living agents, or all, or the named ones. It says the
// same in every process (package state).
func (w Agents) States(ctx context.Context, all bool, only ...id.Agent) (state.Now, error) {
	return w.sources().Look(ctx, all, only...)
}

// few is up to how many histories are looked at one by one.
const few = 256

// StatesAmong returns what States does, for agents whose rows were just read. Where few of them can have something to tell, since
// the others said nothing since their birth, the rows of all are not read again.
func (w Agents) StatesAmong(ctx context.Context, all bool, nodes []agent.Node) (state.Now, error) {
	var telling []id.Agent
	for _, n := range nodes {
		if n.Head == 0 { // it was read in brief
			return w.States(ctx, all)
		}
		if n.Status == agent.Running && n.Head == n.Genesis && len(telling) > 0 {
			continue // the first stays: no name means all agents
		}
		if telling = append(telling, n.ID); len(telling) > few {
			return w.States(ctx, all)
		}
	}
	return w.States(ctx, all, telling...)
}

// State returns the state of one agent.
func (w Agents) State(ctx context.Context, a agent.Agent) (state.State, error) {
	now, err := w.States(ctx, false, a.ID)
	return now.Of(a), err
}

func (w Agents) sources() state.Sources {
	if w.ws.Kernel != nil {
		s := w.ws.Kernel.Sources()
		s.There, s.Kernels = w.ws.Peers.States, w.ws.Peers.Kernels
		return s
	}
	return state.Sources{Store: w.ws.Store, Gone: w.ws.Peers.Gone, There: w.ws.Peers.States, Kernels: w.ws.Peers.Kernels}
}

// Labels returns those of the marks to which an agent can be rewound, the newest first.
func (w Agents) Labels(ctx context.Context, a id.Agent) (out []string, err error) {
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := history.BuildRanges(ctx, log, a)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			for e, err := range log.QueryRange(ctx, r, history.Selection{Shaping: true}) {
				if err != nil {
					return err
				}
				if e.Kind != history.Mark {
					continue
				}
				if about, err := e.Decode(); err == nil && about.Label != "" {
					out = append(out, about.Label)
				}
			}
		}
		return nil
	})
	slices.Reverse(out)
	return uniqueLabels(out), err
}

func uniqueLabels(all []string) (out []string) {
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// maxDrawn limits the points, and the letters, of a picture.
const maxDrawn = 5000

// Lineage returns everybody who ever was, in time, with what shaped their histories and the letters
// between them.
func (w Agents) Lineage(ctx context.Context) (public.Lineage, error) {
	out := public.Lineage{Agents: []public.LineageAgent{}, Points: []public.LineagePoint{}, Letters: []public.LineageLetter{}}
	all, err := w.Everybody(ctx)
	if err != nil {
		return out, err
	}
	drawn, err := w.ws.Store.Ties(ctx, maxDrawn)
	if err != nil {
		return out, err
	}
	var living []agent.Agent
	for _, a := range all.All {
		if a.Status == agent.Running {
			living = append(living, a)
		}
	}
	said, err := w.ws.words.of(ctx, w.ws.Store, living)
	if err != nil {
		return out, err
	}
	runs := map[id.Agent]bool{}
	for _, n := range agent.Tree(all.All, func(*agent.Agent) bool { return true }) {
		runs[n.ID] = strings.HasPrefix(n.Name, RunName) || runs[n.Parent]
		out.Agents = append(out.Agents, public.FormatLineageAgent(*n.Agent, all.States[n.ID], public.Stamp(said[n.ID].At), runs[n.ID]))
	}
	for _, e := range drawn.Shaping {
		if p, ok := public.FormatPoint(e, drawn); ok {
			out.Points = append(out.Points, p)
		}
	}
	for _, l := range drawn.Letters {
		out.Letters = append(out.Letters, public.FormatLineageLetter(l))
	}
	out.More = drawn.More
	return out, nil
}

// Resume makes the agent that continues an interrupted task: a child of the old
// one, forked where it stopped. The ledger has it before it exists, and refuses what
// is not interrupted.
func (w Agents) Resume(ctx context.Context, old agent.Agent) (agent.Agent, error) {
	child := id.NewAgent()
	start := ledger.Start{ID: string(child), Type: "agent", Group: old.Label(), Owner: ledger.SelfOwner()}
	if _, err := w.ws.Book.Resume(ctx, string(old.ID), start); err != nil {
		return agent.Agent{}, err
	}
	born, err := w.fork(ctx, old.ID, registry.Child{ID: child}, "")
	if err != nil {
		// It was never born; the ledger must not wait for it.
		if _, lerr := w.ws.Book.Finish(context.WithoutCancel(ctx), string(child), ledger.Failed, "it could not be forked"); lerr != nil {
			return agent.Agent{}, lerr
		}
		return agent.Agent{}, err
	}
	return born, nil
}

package session

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/store/database"
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
					out = append(slices.DeleteFunc(out, func(known string) bool { return known == about.Label }), about.Label)
				}
			}
		}
		return nil
	})
	slices.Reverse(out)
	return out, err
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
		if _, lerr := w.ws.Book.Move(context.WithoutCancel(ctx), string(child), ledger.Failed, "it could not be forked"); lerr != nil {
			return agent.Agent{}, lerr
		}
		return agent.Agent{}, err
	}
	return born, nil
}

// Overview returns the facts about all agents, for the screens of all agents (public.MakeHome). What
// worktrees hold is looked up beside it: an event without an agent tells when there is more.
func (w Agents) Overview(ctx context.Context) (public.HomeFacts, error) {
	all, err := w.Everybody(ctx)
	if err != nil {
		return public.HomeFacts{}, err
	}
	f := public.HomeFacts{All: all.All, States: all.States}
	var living []agent.Agent
	for _, a := range all.All {
		if a.Status == agent.Running {
			living = append(living, a)
		}
	}
	if f.Words, err = w.ws.words.of(ctx, w.ws.Store, living); err != nil {
		return f, err
	}
	f.Changes = w.ws.changes.of(ctx, w.ws, living)
	f.Runs = w.progress(ctx, living)
	return f, nil
}

// spoken remembers the newest words of agents: who has the same newest entry said nothing new.
type spoken struct {
	mu    sync.Mutex
	known map[id.Agent]spokenAt
}

type spokenAt struct {
	head  id.Message
	words registry.Words
}

func (s *spoken) of(ctx context.Context, from registry.Speakers, agents []agent.Agent) (map[id.Agent]registry.Words, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[id.Agent]registry.Words, len(agents))
	kept := make(map[id.Agent]spokenAt, len(agents))
	var stale []id.Agent
	heads := map[id.Agent]id.Message{}
	for _, a := range agents {
		if had, ok := s.known[a.ID]; ok && had.head == a.Head {
			out[a.ID], kept[a.ID] = had.words, had
			continue
		}
		stale, heads[a.ID] = append(stale, a.ID), a.Head
	}
	read, err := from.Words(ctx, stale...)
	if err != nil {
		return nil, err
	}
	for a, words := range read {
		out[a], kept[a] = words, spokenAt{heads[a], words}
	}
	s.known = kept
	return out, nil
}

// progress returns the progress of the runs whose agents live. What cannot be read is left out: run
// show reports the error.
func (w Agents) progress(ctx context.Context, living []agent.Agent) map[id.Agent]public.HomeRun {
	out := map[id.Agent]public.HomeRun{}
	own := map[id.Agent]bool{}
	for _, a := range living {
		if strings.HasPrefix(a.Name, RunName) {
			own[a.ID] = true
		}
	}
	if len(own) == 0 || w.ws.runs == nil {
		return out
	}
	runs, err := w.ws.runs()
	if err != nil {
		return out
	}
	ids, _ := runs.List()
	for _, runID := range ids {
		uuid, ok, err := runs.Agent(runID)
		if err != nil || !ok || !own[id.Agent(uuid)] {
			continue
		}
		r, err := runs.Open(ctx, runID, "")
		if err != nil {
			continue
		}
		now, err := r.State(ctx)
		r.Close() // it only read
		if err == nil {
			out[id.Agent(uuid)] = progressOf(now)
		}
	}
	return out
}

func progressOf(s run.Snapshot) public.HomeRun {
	p := public.HomeRun{ID: s.RunID, State: string(s.RunState), Of: len(s.WorkItems)}
	for _, item := range s.WorkItems {
		if item.Status == run.Completed || item.Status == run.ItemSkipped {
			p.Done++
		}
	}
	return p
}

// changes remembers what worktrees hold. git takes its time, so it is asked beside those who
// look, one worktree after the other, and of one that is worked in not without a pause.
type changes struct {
	mu    sync.Mutex
	known map[id.Agent]changedAt
	asked bool // git is being asked
}

type changedAt struct {
	head id.Message // of the agent, when it was looked
	at   time.Time
	public.HomeChange
}

// changePause lies between two looks at one worktree.
const changePause = 3 * time.Second

// of returns the known changes. What is out of date is looked up, and then told of.
func (c *changes) of(ctx context.Context, w *Workspace, living []agent.Agent) map[id.Agent]public.HomeChange {
	out := map[id.Agent]public.HomeChange{}
	k, _, err := w.Trees().Keeper(ctx)
	if err != nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var stale []agent.Agent
	for _, a := range living {
		if !k.Holds(a.Cwd) {
			continue
		}
		had, ok := c.known[a.ID]
		if ok && had.Branch != "" {
			out[a.ID] = had.HomeChange
		}
		if !ok || had.head != a.Head {
			stale = append(stale, a)
		}
	}
	if len(stale) > 0 && !c.asked {
		c.asked = true
		go c.look(context.WithoutCancel(ctx), w, stale)
	}
	return out
}

// look asks git about worktrees.
func (c *changes) look(ctx context.Context, w *Workspace, stale []agent.Agent) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, a := range stale {
		c.mu.Lock()
		wait := changePause - time.Since(c.known[a.ID].at)
		c.mu.Unlock()
		if wait > 0 {
			time.Sleep(wait)
		}
		now := changedAt{head: a.Head, at: time.Now()}
		if work, ok, err := w.Trees().Look(ctx, a); err == nil && ok {
			now.HomeChange = public.HomeChange{Branch: work.Branch, Files: len(work.Files)}
			now.Added, now.Removed = countInsertions(work.Stat)
		}
		c.mu.Lock()
		if c.known == nil {
			c.known = map[id.Agent]changedAt{}
		}
		c.known[a.ID] = now
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.asked = false
	c.mu.Unlock()
	w.changed()
}

var statWords = text.Regexp(`(\d+) (insertion|deletion)`)

// countInsertions reads git's short statistics.
func countInsertions(stat string) (added, removed int) {
	for _, m := range statWords().FindAllStringSubmatch(stat, -1) {
		n, _ := strconv.Atoi(m[1])
		if m[2] == "insertion" {
			added = n
		} else {
			removed = n
		}
	}
	return added, removed
}

// Changed returns the changes of an agent as a patch: those in its worktree that its parent's folder
// has not, or, where it has none, what became of its files since its last turn began.
func (w Files) Changed(ctx context.Context, of id.Agent) (string, error) {
	a, err := w.ws.Store.Agent(ctx, of)
	if err != nil {
		return "", err
	}
	if tree, ok, err := w.ws.Trees().Of(ctx, a); err != nil || ok {
		if err != nil {
			return "", err
		}
		return tree.keep.Diff(ctx, tree.Tree, tree.Home, "")
	}
	changed, err := w.DiffFiles(ctx, a, 0, 0)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	var out strings.Builder
	for _, c := range changed {
		if out.WriteString(c.Diff); c.Diff == "" {
			fmt.Fprintf(&out, "%s: %s\n", c.Path, c.Note)
		}
	}
	return out.String(), err
}

// followEvery is the interval at which the store is asked for changes that no kernel of
// this machine reported: a face must not be late by more than 200 ms.
const followEvery = 150 * time.Millisecond

// followAnyway is the interval where the system reports changes: leases run out
// without one, and not all that other kernels of this machine do is written.
const followAnyway = time.Second

// Follow publishes an event without a state whenever other processes may have changed what agents do, until ctx ends:
// its readers look at the states.
func (w Turns) Follow(ctx context.Context) {
	every, stirred := followEvery, w.stirred(ctx)
	if stirred != nil {
		every = followAnyway
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for before := ""; ; {
		now, err := w.fingerprint(ctx)
		if err == nil && before != "" && now != before || len(w.ws.Peers.Kernels()) > 1 {
			w.ws.changed()
		}
		if err == nil {
			before = now
		}
		select {
		case <-tick.C:
		case <-stirred:
			select { // one look for all that is written now
			case <-time.After(followEvery):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// stirred receives a value when the files of the database change; nil: the system cannot report that.
func (w Turns) stirred(ctx context.Context) <-chan struct{} {
	if w.ws.Place.DB == "" || database.IsPostgres(w.ws.Place.DB) {
		return nil
	}
	told, _ := durable.WatchFolder(ctx, filepath.Dir(w.ws.Place.DB))
	return told
}

// fingerprint differs when something was written, or a lease changed hands or lost its
// holder.
func (w Turns) fingerprint(ctx context.Context) (string, error) {
	latest, err := w.ws.Store.Latest(ctx)
	if err != nil {
		return "", err
	}
	leased, now, err := w.ws.Store.Leased(ctx)
	if err != nil {
		return "", err
	}
	out := append([]byte(nil), latest...)
	left := agent.OwnersGone(now, w.ws.Peers.Gone)
	for _, a := range leased {
		out = fmt.Appendf(out, " %s %s %d %t", a.ID, a.Lease.Owner, a.Lease.Epoch, left(a.Lease))
	}
	return string(out), nil
}

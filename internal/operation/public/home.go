package public

import (
	"slices"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
)

// Home is everybody who lives, as the screens of all agents show them.
type Home struct {
	Rows   []HomeRow   `json:"rows"` // by group, in the order in which they are shown
	Groups []HomeGroup `json:"groups"`
	Agents int         `json:"agents"` // the living, folded ones too
	Asking int         `json:"asking"` // questions to a person, one an agent
	Spent  Spent       `json:"spent"`  // by all, the dead included
	Budget Budget      `json:"budget"` // of agent 0
}

// HomeGroup is a group and how many rows are in it; empty ones are told too.
type HomeGroup struct {
	Group string `json:"group"` // needs you, working, done, idle
	Count int    `json:"count"`
}

// HomeRow is one agent, or a run with everybody who works for it.
type HomeRow struct {
	UUID   id.Agent  `json:"uuid"`
	Name   string    `json:"name"`
	Group  string    `json:"group"`
	State  State     `json:"state"`
	Does   string    `json:"does"`        // the state in one word
	Indent int       `json:"indent"`      // under the nearest row above it with a smaller one
	Last   bool      `json:"last"`        // of the children under the same row
	Path   []string  `json:"path"`        // whom it hangs under, root first, where that is not a row of its group
	Parent *id.Agent `json:"parent_uuid"` // nearest living ancestor
	Asked  *string   `json:"asked"`       // what it was told last, on one line
	Said   *string   `json:"said"`        // the last line that it said; of one that asks, what; of one that failed, why
	Model  *string   `json:"model"`
	Driver *string   `json:"driver"` // another program that drives it
	Spent  Spent     `json:"spent"`  // of a run: by all who work for it
	Since  string    `json:"since"`  // when it was asked, where it works; else when it last wrote
	Ticks  bool      `json:"ticks"`  // its age is that of work under way
	Unread int64     `json:"unread_mail"`
	Below  int       `json:"below"`  // the living below it: a kill ends these too
	Folded int       `json:"folded"` // of those, the ones that this row stands for

	Change *HomeChange `json:"change"` // of one with a worktree of its own
	Run    *HomeRun    `json:"run"`    // of a run's agent
}

// HomeChange counts the changes in a worktree that the parent's folder does not have.
type HomeChange struct {
	Branch  string `json:"branch"`
	Files   int    `json:"files"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// HomeRun is the progress of a run.
type HomeRun struct {
	ID    string `json:"run_id"`
	State string `json:"run_state"`
	Done  int    `json:"done"` // of its work items
	Of    int    `json:"of"`
}

// FormatHome is the shape of a table.
func FormatHome(t HomeTable) Home {
	out := Home{Rows: []HomeRow{}, Agents: t.Agents, Asking: t.Asking, Spent: Spent(t.Spent), Budget: formatBudget(t.Budget)}
	for _, g := range HomeSections() {
		out.Groups = append(out.Groups, HomeGroup{string(g), t.Counts[g]})
	}
	for _, r := range t.Rows {
		out.Rows = append(out.Rows, formatRow(r))
	}
	return out
}

func formatRow(r HomeEntry) HomeRow {
	out := HomeRow{UUID: r.ID, Name: r.Name, Group: string(r.Group), State: *FormatState(r.State), Does: r.Does, Indent: r.Indent, Last: r.Last,
		Path: append([]string{}, r.Path...), Parent: Optional(r.Parent), Asked: Optional(r.Asked), Said: Optional(r.Said), Model: Optional(r.Model),
		Driver: Optional(r.Driver), Spent: Spent(r.Spent), Since: Stamp(r.Since), Ticks: r.Ticks, Unread: r.Unread, Below: r.Below, Folded: r.Folded, Run: r.Run}
	if r.Change.Branch != "" {
		out.Change = &r.Change
	}
	return out
}

func formatBudget(b agent.Budget) (out Budget) {
	if n, ok := b.Tokens.Get(); ok {
		out.Tokens = &n
	}
	if n, ok := b.Cost.Get(); ok {
		out.Cost = &n
	}
	return out
}

// HomeSection groups agents by what a person can do about them.
type HomeSection string

// The groups, in their order on the screen.
const (
	NeedsYou HomeSection = "needs you"
	Working  HomeSection = "working"
	Done     HomeSection = "done"
	Idle     HomeSection = "idle"
)

// HomeSections lists them.
func HomeSections() []HomeSection { return []HomeSection{NeedsYou, Working, Done, Idle} }

// GroupOf returns the group of a state.
func GroupOf(s state.State) HomeSection {
	switch s.Word {
	case state.Asks, state.NeedsKey, state.Failed, state.Interrupted:
		return NeedsYou
	case state.Working, state.Waits:
		return Working
	case state.Done:
		return Done
	}
	if s.Commands != "" {
		return Working
	}
	return Idle
}

// RunPrefix begins the names of the agents that runs work with.
const RunPrefix = "run-"

// HomeFacts holds the facts about a workspace at one moment.
type HomeFacts struct {
	All     []agent.Agent // the living and the dead, in the order of creation
	States  map[id.Agent]state.State
	Words   map[id.Agent]registry.Words
	Changes map[id.Agent]HomeChange  // of those that have a worktree
	Runs    map[id.Agent]HomeRun     // of the agents that runs work with
	Asks    map[id.Agent]string      // what a person is asked about, on one line
	Pinned  map[id.Agent]HomeSection // who stays in a group although its state is of another
}

// HomeEntry is one agent.
type HomeEntry struct {
	ID     id.Agent
	Name   string
	Group  HomeSection
	State  state.State
	Does   string   // the state in few letters
	Indent int      // steps below the first row above it that is no child of this group's
	Last   bool     // of the children under the same row
	Path   []string // whom it hangs under, root first, where that is not the row above
	Parent id.Agent // nearest living ancestor; empty: none
	Asked  string   // what it was told last
	Said   string   // the last line that it said, or what is asked of a person
	Model  string
	Driver string // another program that drives it; empty: none
	Spent  agent.Spending
	Since  time.Time // when it was asked, where it works; else when it last wrote
	Ticks  bool      // its age is that of work under way
	Unread int64
	Below  int // the living below it
	Folded int // of those, the ones that this row stands for
	Change HomeChange
	Run    *HomeRun // nil: not a run's agent

	own HomeSection // that of its state, wherever it is pinned
}

// HomeTable is all rows.
type HomeTable struct {
	Rows   []HomeEntry         // by group
	Counts map[HomeSection]int // by what they do, wherever they are pinned
	Asking int                 // of those who need a person, the ones with a question
	Agents int                 // the living
	Spent  agent.Spending      // by all, the dead included
	Budget agent.Budget        // of agent 0
}

// row makes the row of an agent; what depends on others is filled in by Make.
func (f HomeFacts) row(a agent.Agent) HomeEntry {
	s, w := f.States[a.ID], f.Words[a.ID]
	r := HomeEntry{ID: a.ID, Name: a.Label(), Group: GroupOf(s), State: s, Does: DescribeState(s), Asked: w.Asked, Said: w.Said, Model: a.Model, Driver: a.Driver(),
		Spent: a.Spent, Since: w.At, Unread: a.Unread, Change: f.Changes[a.ID]}
	if asks := f.Asks[a.ID]; asks != "" {
		r.Group, r.Said, r.Does = NeedsYou, asks, string(state.Asks)
		r.State = state.State{Word: state.Asks, Detail: asks, Commands: s.Commands}
	}
	if r.Group == NeedsYou && r.State.Word != state.Asks && r.State.Detail != "" {
		r.Said = r.State.Detail
	}
	if r.State.Word == state.NeedsKey {
		r.Said = r.State.String()
	}
	if r.Group == Working && !w.AskedAt.IsZero() {
		r.Since, r.Ticks = w.AskedAt, true
	}
	if r.Since.IsZero() {
		r.Since = a.CreatedAt
	}
	if p, ok := f.Runs[a.ID]; ok {
		r.Run = &p
	}
	r.own = r.Group
	if g, ok := f.Pinned[a.ID]; ok {
		r.Group = g
	}
	if r.Driver != "" {
		r.Model = ""
	}
	return r
}

// DescribeState returns the state in one word, as the second column shows it.
func DescribeState(s state.State) string {
	if s.Word != state.Working || s.Detail == "" {
		return string(s.Word)
	}
	word := s.Detail
	for i, r := range word {
		if r == ' ' {
			word = word[:i]
			break
		}
	}
	return word
}

// MakeHome makes the table of what is known.
func MakeHome(f HomeFacts) HomeTable {
	t := HomeTable{Counts: map[HomeSection]int{}}
	nodes := agent.Tree(f.All, func(a *agent.Agent) bool { return a.Status == agent.Running })
	for _, a := range f.All {
		t.Spent = t.Spent.Plus(a.Spent)
		if a.IsZero() {
			t.Budget = a.Budget
		}
	}
	rows := f.rows(nodes)
	t.Agents = len(rows)
	groups := map[HomeSection][]int{} // places in rows
	for i := range rows {
		r := &rows[i]
		if r.folded() {
			continue
		}
		g := r.row.Group
		t.Counts[r.row.own]++
		if r.row.State.Word == state.Asks {
			t.Asking++
		}
		if r.up >= 0 {
			if up := &rows[r.up]; up.row.Group == g && !up.folded() {
				r.row.Indent = up.row.Indent + 1
			} else {
				r.row.Path = pathOf(rows, r)
			}
		}
		groups[g] = append(groups[g], i)
	}
	groups[Done] = newestFirst(rows, groups[Done])
	t.Rows = make([]HomeEntry, 0, len(rows))
	for _, g := range HomeSections() {
		from := len(t.Rows)
		for _, i := range groups[g] {
			t.Rows = append(t.Rows, rows[i].row)
		}
		markLast(t.Rows[from:])
	}
	return t
}

// standing is a row on its place in the tree.
type standing struct {
	row  HomeEntry
	up   int // its nearest living ancestor; -1: none
	run  int // the run's agent above it; -1: none
	name string
}

// rows makes the rows of a tree, parents first, with what they hold of those below.
func (f HomeFacts) rows(nodes []agent.Node) []standing {
	out := make([]standing, len(nodes))
	at := make(map[id.Agent]int, len(nodes))
	for i, n := range nodes {
		at[n.ID] = i
		s := standing{row: f.row(*n.Agent), up: -1, run: -1, name: n.Agent.Label()}
		s.row.Parent = n.Home
		if up, ok := at[n.Home]; ok && n.Home != "" {
			s.up, s.run = up, out[up].run
			if strings.HasPrefix(out[up].name, RunPrefix) {
				s.run = up
			}
		}
		out[i] = s
	}
	for i := len(out) - 1; i >= 0; i-- { // children before parents
		r := &out[i].row
		if up := out[i].up; up >= 0 {
			out[up].row.Below += r.Below + 1
		}
		if run := out[i].run; run >= 0 && r.Group != NeedsYou {
			into := &out[run].row
			into.Folded += r.Folded + 1
			into.Spent = into.Spent.Plus(r.Spent)
			into.Unread += r.Unread
		}
	}
	for i := range out { // a run works as long as one of its own does
		if run := out[i].run; run >= 0 && out[i].row.Group == Working && out[run].row.Group == Idle {
			out[run].row.Group, out[run].row.own = Working, Working
		}
	}
	return out
}

// folded reports whether the row of its run represents it.
func (s *standing) folded() bool { return s.run >= 0 && s.row.Group != NeedsYou }

// mostPath limits how many ancestors of a row are named.
const mostPath = 4

// pathOf names those above a row, root first; of many, the nearest.
func pathOf(rows []standing, s *standing) []string {
	var out []string
	for up := s.up; up >= 0; up = rows[up].up {
		if len(out) == mostPath {
			out = append(out, "…")
			break
		}
		out = append(out, rows[up].name)
	}
	slices.Reverse(out)
	return out
}

// newestFirst sorts the families of a group by when their first member last wrote; inside of
// a family the order stays.
func newestFirst(rows []standing, group []int) []int {
	var families [][]int
	for _, i := range group {
		if rows[i].row.Indent == 0 || len(families) == 0 {
			families = append(families, nil)
		}
		last := len(families) - 1
		families[last] = append(families[last], i)
	}
	slices.SortStableFunc(families, func(a, b []int) int { return rows[b[0]].row.Since.Compare(rows[a[0]].row.Since) })
	return slices.Concat(families...)
}

// markLast marks the last child under each row.
func markLast(rows []HomeEntry) {
	var later []bool // by indent: whether one follows under the same parent
	for i := len(rows) - 1; i >= 0; i-- {
		n := rows[i].Indent
		for len(later) <= n {
			later = append(later, false)
		}
		rows[i].Last = !later[n]
		later = later[:n+1]
		later[n] = true
	}
}

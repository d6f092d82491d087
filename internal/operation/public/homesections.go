package public

import (
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
)

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

// GroupOf is the group of a state.
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

// DescribeState is the state in one word, as the second column shows it.
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

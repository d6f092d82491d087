package tui

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// agents is everybody, with the ways between them. It is made anew when somebody is
// born, dies or changes; looking is cheap.
type agents struct {
	Agents
	at     map[id.Agent]int
	living []agent.Node // as a tree
	row    map[id.Agent]int
	kids   map[id.Agent][]id.Agent
	lines  []string // before the names of living; made when first drawn
}

func newAgents(c Agents) *agents {
	if c.States == nil {
		c.States = map[id.Agent]state.State{}
	}
	out := &agents{Agents: c, at: make(map[id.Agent]int, len(c.All)), row: map[id.Agent]int{}, kids: map[id.Agent][]id.Agent{}}
	for i := range c.All {
		out.at[c.All[i].ID] = i
	}
	out.living = agent.Tree(c.All, func(a *agent.Agent) bool { return a.Status == agent.Running })
	for i, n := range out.living {
		out.row[n.ID] = i
		if n.Home != "" {
			out.kids[n.Home] = append(out.kids[n.Home], n.ID)
		}
	}
	return out
}

func (c *agents) branches() []string {
	if c.lines == nil {
		c.lines = branches(c.living)
	}
	return c.lines
}

func (c *agents) get(a id.Agent) (agent.Agent, bool) {
	if c == nil {
		return agent.Agent{}, false
	}
	i, ok := c.at[a]
	if !ok {
		return agent.Agent{}, false
	}
	return c.All[i], true
}

// label is what an agent is called; it is safe to show.
func (c *agents) label(a id.Agent) string {
	if found, ok := c.get(a); ok {
		return found.Label()
	}
	return a.Short()
}

func (c *agents) zero() (agent.Agent, bool) {
	if c != nil {
		for _, a := range c.All {
			if a.IsZero() {
				return a, true
			}
		}
	}
	return agent.Agent{}, false
}

// up is the nearest living ancestor.
func (c *agents) up(a id.Agent) (id.Agent, bool) {
	now, ok := c.get(a)
	for ok && now.Parent != "" {
		if now, ok = c.get(now.Parent); ok && now.Status == agent.Running {
			return now.ID, true
		}
	}
	return "", false
}

// children are the living ones, oldest first: also those whom a dead child left.
func (c *agents) children(a id.Agent) []id.Agent {
	if c == nil {
		return nil
	}
	return c.kids[a]
}

// siblings are those under the same living ancestor, the agent included, oldest
// first. The dead stand alone.
func (c *agents) siblings(a id.Agent) []id.Agent {
	if _, ok := c.row[a]; !ok {
		return []id.Agent{a}
	}
	home := c.living[c.row[a]].Home
	if home == "" {
		return []id.Agent{a}
	}
	return c.children(home)
}

// beside is the sibling n steps further, around the end.
func (c *agents) beside(a id.Agent, n int) (id.Agent, bool) {
	if c == nil {
		return "", false
	}
	all := c.siblings(a)
	if len(all) < 2 {
		return "", false
	}
	i := slices.Index(all, a)
	if i < 0 {
		return "", false
	}
	return all[((i+n)%len(all)+len(all))%len(all)], true
}

func (c *agents) down(a id.Agent) (id.Agent, bool) {
	children := c.children(a)
	if len(children) == 0 {
		return "", false
	}
	return children[len(children)-1], true
}

// below counts the living below an agent, through the dead.
func (c *agents) below(a id.Agent) int {
	under := map[id.Agent]bool{a: true}
	n := 0
	for _, one := range c.All { // parents are older than their children
		if under[one.Parent] {
			under[one.ID] = true
			if one.Status == agent.Running {
				n++
			}
		}
	}
	return n
}

// find is the agent that a user means: as agent.Find, among those who are known.
func (c *agents) find(ref string) (agent.Agent, bool) {
	if ref == "0" {
		return c.zero()
	}
	if a, ok := c.get(id.Agent(ref)); ok {
		return a, true
	}
	var fits []agent.Agent
	var dead agent.Agent
	for _, a := range c.All {
		switch {
		case a.Name == ref && a.Status == agent.Running:
			return a, true
		case a.Name == ref && (dead.ID == "" || a.EndedAt.After(dead.EndedAt)):
			dead = a
		case len(ref) >= 4 && len(ref) <= len(a.ID) && string(a.ID[:len(ref)]) == ref:
			fits = append(fits, a)
		}
	}
	if dead.ID != "" {
		return dead, true
	}
	if len(fits) == 1 {
		return fits[0], true
	}
	return agent.Agent{}, false
}

func cost(a agent.Agent) string { return money(llm.Money(a.Spent.Cost)) }

// branches draws the lines in front of names.
func branches(nodes []agent.Node) []string {
	const deepest = 12
	out := make([]string, len(nodes))
	var more [deepest + 1]bool
	for i := len(nodes) - 1; i >= 0; i-- {
		level := min(nodes[i].Indent, deepest)
		for l := 1; l < level; l++ {
			if more[l] {
				out[i] += "│ "
			} else {
				out[i] += "  "
			}
		}
		if level > 0 {
			if more[level] {
				out[i] += "├ "
			} else {
				out[i] += "└ "
			}
		}
		more[level] = true
		clear(more[level+1:])
	}
	return out
}

func (m *root) tree(w, h int) []string {
	if m.agents == nil {
		return []string{faint.of("…")}
	}
	nodes := m.agents.living
	title := text.Count(len(nodes), "agent")
	out := []string{headline(title, w)}
	room := h - 1
	row, ok := m.agents.row[m.now.agent]
	if !ok {
		row = 0
	}
	from := max(0, min(row-room/2, len(nodes)-room))
	lines := m.agents.branches()
	for i := from; i < len(nodes) && i < from+room; i++ {
		n := nodes[i]
		word, st := m.state(*n.Agent)
		rest := ""
		if n.Unread > 0 {
			rest += warn.of(fmt.Sprintf(" ✉%d", n.Unread))
		}
		if w >= 36 {
			rest += faint.of(" " + cost(*n.Agent) + " " + text.Age(m.o.Now().Sub(n.CreatedAt)))
		}
		name := line(n.Label(), max(6, w-14))
		// A long state is cut rather than left out.
		right := st.of(cut(word, max(8, w-width(lines[i])-width(name)-width(rest)-1))) + rest
		if n.ID == m.now.agent {
			name = accented.of(name)
		}
		out = append(out, spread(faint.of(lines[i])+name, right, w))
	}
	return out
}

// openJump lets the user go to any agent: the tree, or those that fit a few letters. The
// dead are listed only when asked for.
func (m *root) openJump(dead bool) tea.Cmd {
	if m.agents == nil {
		return nil
	}
	var choices []choice
	at := 0
	lines := m.agents.branches()
	for i, n := range m.agents.living {
		word, _ := m.state(*n.Agent)
		extra := word
		if n.Unread > 0 {
			extra = fmt.Sprintf("✉%d %s", n.Unread, word)
		}
		if n.ID == m.now.agent {
			at = i
		}
		choices = append(choices, choice{lines[i] + n.Label() + " " + short(*n.Agent), extra, m.agents.at[n.ID]})
	}
	for i, a := range m.agents.All {
		if dead && a.Status == agent.Dead {
			word, _ := m.state(a)
			choices = append(choices, choice{a.Label() + " " + short(a), word, i})
		}
	}
	title := "go to · Ctrl+G: include dead agents"
	if dead {
		title = "go to · Ctrl+G: live agents only"
	}
	p := newPicker(title, choices, at, func(m *root, i int) tea.Cmd {
		if i >= len(m.agents.All) {
			return nil
		}
		return m.goTo(m.agents.All[i].ID)
	})
	p.more = func(m *root) tea.Cmd { return m.openJump(!dead) }
	m.over = p
	return nil
}

func short(a agent.Agent) string {
	if a.Name == "" && !a.IsZero() {
		return ""
	}
	return a.ID.Short()
}

// busy reports whether an agent does something that can be stopped, in whichever process.
func (m *root) busy(s *screen) bool {
	return s.working() || m.agents != nil && m.agents.States[s.agent].Busy()
}

// needsKey reports whether an agent waits for the key of its model, which a prompt of this terminal may bring.
func (m *root) needsKey(s *screen) bool {
	return !s.working() && m.agents != nil && m.agents.States[s.agent].Word == state.NeedsKey
}

func (m *root) occupied(s *screen) bool { return m.busy(s) && !m.needsKey(s) }

// stoppable reports whether there is something to stop where the user is.
func (m *root) stoppable() bool { return m.now.barrier != nil || m.now.shell != nil || m.busy(m.now) }

func (m *root) state(a agent.Agent) (string, style) {
	now, s := state.State{Word: state.Idle}, m.screens[a.ID]
	if m.agents != nil && m.agents.States[a.ID].Word != "" {
		now = m.agents.States[a.ID]
	}
	for _, q := range m.questions {
		if q.Agent == a.ID && now.Word != state.Killed && !(s != nil && s.stopping) {
			now = state.State{Word: state.Asks}
		}
	}
	if s != nil && s.stopping {
		return state.Stopping, warn
	}
	if s != nil && s.working() && !now.Busy() {
		now = state.State{Word: state.Working, Detail: state.Starts}
	}
	return now.Short(22), tone(now)
}

// clock begins anew when an agent does something else: what is told is how long it does that, and the
// time that a person took to answer is no part of the call that was asked about.
func (m *root) clock(s *screen) {
	a, ok := m.agents.get(s.agent)
	if !ok {
		return
	}
	word, _ := m.state(a)
	if s.live.doing != "" && s.live.doing != word {
		s.live.since = m.o.Now()
	}
	s.live.doing = word
}

// moving reports whether something on the screen of the current agent moves by itself. Nothing does
// while a person is asked, but that keys become the question's when its quiet time is over.
func (m *root) moving() bool {
	q := m.question()
	return m.occupied(m.now) && (q == nil || q.Quiet(m.o.Now()))
}

func tone(s state.State) style {
	switch s.Word {
	case state.Working, state.Waits:
		return good
	case state.Asks, state.NeedsKey, state.Interrupted:
		return warn
	case state.Failed:
		return bad
	}
	return faint
}

// program returns the program that drives the agent on the screen; empty: ramet itself does.
func (m *root) program() string {
	a, ok := m.agent()
	if !ok {
		return ""
	}
	return a.Driver()
}

// named returns the commands that the user and the project define, and those of the program that drives
// the agent on the screen.
func (m *root) named() []kit.Command {
	out := m.workspace.Defined()
	if a, ok := m.agent(); ok {
		out = append(out[:len(out):len(out)], m.workspace.ProgramCommands(a)...)
	}
	return out
}

// drives reads what the program that drives an agent offers; nil: none drives it, or that is unknown.
func drives(ctx context.Context, w Workspace, all *agents, who id.Agent) *public.Program {
	a, ok := all.get(who)
	if !ok || a.Driver() == "" {
		return nil
	}
	p, err := w.Program(ctx, a)
	if err != nil {
		return nil // an agent that is gone
	}
	return p
}

func (m *root) programMode() string {
	if p := m.now.drives; p != nil && p.Mode != nil && m.program() != "" {
		return line(p.Driver+": "+*p.Mode, 40)
	}
	return ""
}

func (m *root) modes() []session.CommandCandidate {
	var out []session.CommandCandidate
	for _, mode := range permit.Modes() {
		out = append(out, session.CommandCandidate{Text: string(mode), Summary: mode.Title()})
	}
	p := m.now.drives
	if p == nil || m.program() == "" {
		return out
	}
	for _, mode := range p.Modes {
		out = append(out, session.CommandCandidate{Text: p.Driver + ":" + mode.Word, Summary: line(mode.Title+": "+mode.About, 100)})
	}
	return out
}

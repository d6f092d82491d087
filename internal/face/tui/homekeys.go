package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/state"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// homeKey follows a key on Home. In the list only those of its footer act; in the line every
// key is text for the agent under the cursor, or answers its question.
func (m *root) homeKey(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.hall.line:
		return m.homeTyped(k)
	case m.hall.filtering:
		return m.homeFilter(k)
	}
	name := k.String()
	if n := m.homeStep(name); n != 0 {
		return m.moveHome(n)
	}
	cmd, _ := pressed(m.homeRows(), name)
	return cmd
}

// homeRows returns the keys of the list.
func (m *root) homeRows() []keyRow {
	r, ok := m.hall.row()
	on := func(do func(public.HomeEntry) tea.Cmd) func() tea.Cmd {
		return func() tea.Cmd {
			if !ok {
				return nil
			}
			return do(r)
		}
	}
	open := func() tea.Cmd {
		if !ok {
			return m.unfold()
		}
		return tea.Batch(m.closeHome(), m.goTo(r.ID))
	}
	write := on(func(r public.HomeEntry) tea.Cmd { return m.homeWrite(r.ID) })
	help := m.change(func() { m.over = m.homeHelp() })
	return []keyRow{
		{"up", "↑ ↓ PgUp PgDn", "move; Home and End go to the first and the last", nil},
		{"enter", "Enter", "open the conversation; on … show the rest", open},
		{"right", "", "", open},
		{"space", "Space", "write to the selected agent, or answer its question; Esc returns", write},
		{" ", "", "", write},
		{"ctrl+p", "Ctrl+P", "go to the next question", m.homeQuestion},
		{"f", "f", "fork it; w gives the child a worktree of its own", on(m.homeFork)},
		{"k", "k", "kill it, after you confirm", on(m.homeKill)},
		{"m", "m", "its mail", on(m.homeMail)},
		{"d", "d", "what it changed", on(m.homeDiff)},
		{"/", "/", "filter the rows; Esc shows all", m.change(func() { m.hall.filtering = true })},
		{"p", "p", "show or hide the preview (120 columns or more)", m.change(func() { m.hall.closed = !m.hall.closed })},
		{"esc", "Esc", "back to the conversation; ← on an empty prompt returns here", func() tea.Cmd { return m.homeBack(false) }},
		{"left", "", "", func() tea.Cmd { return m.homeBack(true) }},
		{"?", "", "", help},
		{"f1", "", "", help},
		{"ctrl+g", "", "", func() tea.Cmd { return m.openJump(false) }},
		{"ctrl+d", "", "", func() tea.Cmd { return tea.Quit }},
	}
}

// homeStep returns by how many lines a key moves the cursor. Letters do not.
func (m *root) homeStep(name string) int {
	if len(name) == 1 {
		return 0
	}
	return stepOf(name, max(1, m.hall.high-2))
}

func (m *root) homeBack(left bool) tea.Cmd {
	if m.hall.filter != "" {
		m.hall.filter = ""
		m.makeHome()
		return nil
	}
	if left { // the key that brought one here does nothing more
		return nil
	}
	return m.closeHome()
}

// unfold shows what is folded where the cursor is, which stays at that place.
func (m *root) unfold() tea.Cmd {
	i := m.hall.cursor()
	if i >= len(m.hall.lines) || m.hall.lines[i].folded == 0 {
		return nil
	}
	m.hall.open[m.hall.lines[i].group] = true
	m.makeHome()
	return m.putHome(i)
}

func (m *root) homeFilter(k tea.KeyPressMsg) tea.Cmd {
	h := &m.hall
	switch name := k.String(); name {
	case "esc":
		h.filter, h.filtering = "", false
	case "enter":
		h.filtering = false
		return nil
	case "backspace":
		if r := []rune(h.filter); len(r) > 0 {
			h.filter = string(r[:len(r)-1])
		} else {
			h.filtering = false
		}
	default:
		if n := m.homeStep(name); n != 0 {
			return m.moveHome(n)
		}
		if k.Text == "" {
			return nil
		}
		h.filter += clean(k.Text)
	}
	was := h.at
	if m.makeHome(); h.at != was { // the row is left out, and the cursor somewhere else
		return m.putHome(h.cursor())
	}
	return nil
}

func (m *root) homeWrite(a id.Agent) tea.Cmd {
	m.hall.line, m.hall.from = true, m.now.agent
	return m.goTo(a)
}

func (m *root) homeLeave() tea.Cmd {
	from := m.hall.from
	m.hall.line, m.hall.from = false, ""
	if _, ok := m.agents.get(from); !ok {
		return m.homeChanged()
	}
	return tea.Batch(m.goTo(from), m.homeChanged())
}

func (m *root) homeTyped(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	q := m.asking()
	if q != nil && !(name == "esc" && q.Stage == Choosing) {
		if cmd, taken := q.press(m, k); taken {
			if m.asking() != q { // it is answered
				return tea.Batch(cmd, m.homeLeave())
			}
			return cmd
		}
	}
	if name == "esc" {
		if m.offer.shown() {
			m.offer.close()
			return nil
		}
		return m.homeLeave()
	}
	if cmd, ok := m.offer.key(m, name); ok {
		return cmd
	}
	said := !m.now.input.Empty()
	cmd := m.typed(k)
	if name == "enter" && (said || q == nil) && m.now.input.Empty() && m.over == nil && m.hall.on {
		return tea.Batch(cmd, m.homeLeave())
	}
	return cmd
}

// homeQuestion goes to the next one that asks, and stands before its question.
func (m *root) homeQuestion() tea.Cmd {
	h := &m.hall
	from := h.cursor()
	for n := range len(h.lines) {
		l := h.lines[(from+1+n)%len(h.lines)]
		if l.row >= 0 && h.table.Rows[l.row].State.Word == state.Asks {
			a := h.table.Rows[l.row].ID
			return tea.Batch(m.putHome((from+1+n)%len(h.lines)), m.homeWrite(a))
		}
	}
	return m.tell(faint, "No agent needs approval.")
}

func (m *root) homeFork(r public.HomeEntry) tea.Cmd {
	fork := func(worktree bool) func() tea.Cmd {
		return func() tea.Cmd {
			return m.forkNow(operation.ForkInput{Agent: operation.AgentRef(r.ID), Worktree: worktree}, m.screen(r.ID).model, "fork")
		}
	}
	m.ask("Fork "+r.Name+"?\nThe child knows what "+r.Name+" knows. You can tell it what to do next.",
		option{"", "Fork", fork(false)}, option{"w", "Fork with a worktree of its own", fork(true)}, cancel)
	return nil
}

// homeForked puts the cursor on a child that was born here, and the keys to its prompt.
func (m *root) homeForked(child id.Agent) tea.Cmd {
	m.hall.at = child
	m.makeHome()
	rest := m.putHome(m.hall.index(m.hall.at))
	if m.hall.line || m.over != nil || m.hall.at != child {
		return rest
	}
	return tea.Batch(rest, m.homeWrite(child))
}

const mostNamed = 6

// homeKill asks, with the count and the names, before anybody ends.
func (m *root) homeKill(r public.HomeEntry) tea.Cmd {
	victim, ok := m.agents.get(r.ID)
	if !ok {
		return nil
	}
	if victim.IsZero() {
		return m.tell(bad, "error[AGENT_ZERO]: agent 0 is the root of the workspace and cannot be killed")
	}
	names := m.agents.named(r.ID, mostNamed)
	kill := func(all bool) func() tea.Cmd { return func() tea.Cmd { return m.killNow(victim, all, nil) } }
	if r.Below == 0 {
		m.ask(killText(r.Name, 1), cancel, option{"y", "Kill 1 agent", kill(false)})
		return nil
	}
	m.ask(killText(r.Name, r.Below+1)+"\n"+strings.Join(names, ", "), cancel,
		option{"y", fmt.Sprintf("Kill all %d", r.Below+1), kill(true)}, option{"o", "Kill only " + r.Name + ", and keep its children", kill(false)})
	return nil
}

// named are the labels of an agent and those below it; of many, the first.
func (c *agents) named(a id.Agent, most int) []string {
	var out []string
	row, ok := c.row[a]
	if !ok {
		return nil
	}
	top := c.living[row]
	for i, n := range c.living[row:] {
		if i > 0 && n.Indent <= top.Indent {
			break
		}
		if len(out) == most {
			return append(out, "…")
		}
		out = append(out, n.Label())
	}
	return out
}

type sheetMsg struct {
	title, text string
	diff        bool
	err         error
}

func (m *root) homeMail(r public.HomeEntry) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return func() tea.Msg {
		said, err := workspace.Command(ctx, "mail", string(r.ID))
		return sheetMsg{title: r.Name + "'s mail", text: said, err: err}
	}
}

func (m *root) homeDiff(r public.HomeEntry) tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return func() tea.Msg {
		said, err := workspace.Changed(ctx, r.ID)
		return sheetMsg{title: r.Name + "'s changes", text: said, diff: true, err: err}
	}
}

func (msg sheetMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		return m.tell(bad, explain(msg.err))
	}
	if strings.TrimSpace(msg.text) == "" {
		return m.tell(faint, msg.title+": none")
	}
	if m.over != nil {
		return nil
	}
	s := &sheet{title: msg.title}
	s.lines = strings.Split(strings.TrimRight(clean(msg.text), "\n"), "\n")
	if msg.diff {
		s.lines = patched(s.lines, m.theme)
	}
	m.over = s
	return nil
}

func (m *root) homeHelp() *sheet {
	intro := "Agents are grouped by what needs your attention: agents that need you (asking, failed or interrupted), working, done, idle. Children are listed under their parents; a run is one row with its workers."
	return &sheet{title: "Home: all agents at a glance", lines: slices.Concat([]string{""}, wrap(intro, m.w-2), []string{""}, describeKeys(m.homeRows(), m.w-2))}
}

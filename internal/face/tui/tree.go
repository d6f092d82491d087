package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
	"ramet/internal/core/agent"
)

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

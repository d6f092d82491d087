package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
)

// escape leaves what is nearest: a list, a choice, a search, then the turn.
func (m *root) escape() tea.Cmd {
	switch {
	case m.offer.shown():
		m.offer.close()
	case m.search.on:
		m.search = search{}
	case m.now.chosen != nil:
		m.now.chosen = nil
	case m.memory.Tree && m.w < treeBeside:
		m.memory.Tree, m.dirty = false, true
	case m.tour.on && m.asking() == nil:
		m.tour = tour{}
	case m.stoppable():
		return m.halt()
	case m.memory.Tree: // beside the conversation it hides nothing, and is the last that is closed
		m.memory.Tree, m.dirty = false, true
	}
	return nil
}

// twice is how soon the second Ctrl-C must follow: while it stands there that it leaves.
const twice = noticeFor

// interrupt is Ctrl-C: it stops what is under way, else clears the prompt, else
// leaves.
func (m *root) interrupt() tea.Cmd {
	switch {
	case m.over != nil:
		m.over = nil
		return nil
	case m.hall.on && !m.hall.line:
	case m.stoppable() && !m.now.stopping:
		return m.halt()
	case m.now.input.text() != "":
		m.memory.remember(m.now.input.text())
		m.now.input.set("", 0)
		m.edited()
		return nil
	}
	if now := m.o.Now(); now.Sub(m.ctrlC) < twice {
		return tea.Quit
	}
	m.ctrlC = m.o.Now()
	return m.tell(accent, "Press Ctrl+C again to quit")
}

// farewell tells a person who left how many agents continue without the terminal; empty: nothing does.
func (m *root) farewell() string {
	n := 0
	if m.workspace == nil || m.agents == nil {
		return ""
	}
	for _, a := range m.agents.living {
		if m.agents.States[a.ID].Busy() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return text.Count(n, "agent") + " still working in the background. Run `ramet` to see them, or `ramet interrupt AGENT` to stop one.\n"
}

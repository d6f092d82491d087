package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

func (m *root) submit() tea.Cmd {
	typed := m.now.input.text()
	said := strings.TrimSpace(typed)
	switch {
	case said == "" && m.tour.on && !m.busy(m.now):
		return m.tourOn()
	case said == "":
		return m.goOn()
	case strings.HasPrefix(said, "/") && said[0] != typed[0]:
		return m.prompt(" " + said) // the slash is meant
	case strings.HasPrefix(said, "/"):
		return m.slash(said)
	case strings.HasPrefix(said, "!") && len(said) > 1:
		return m.shell(said)
	}
	return m.prompt(said)
}

func (m *root) prompt(said string) tea.Cmd {
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	m.sent(said)
	m.now.queue = append(m.now.queue, said)
	return tea.Batch(m.next(m.now), m.handOver(m.now))
}

func (m *root) goOn() tea.Cmd {
	a, ok := m.agent()
	if !ok || m.occupied(m.now) || m.workspace == nil {
		return nil
	}
	unanswered := m.now.transcript.read && m.now.open()
	if !m.agents.States[a.ID].Resumes() && !unanswered {
		return nil
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	return m.begin(m.now, "")
}

package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// walk goes to another agent; where there is none, nothing happens.
func (m *root) walk(to id.Agent, ok bool) tea.Cmd {
	if !ok {
		return nil
	}
	return m.goTo(to)
}

func (m *root) goTo(a id.Agent) tea.Cmd {
	if a == m.now.agent {
		return nil
	}
	m.search = search{}
	m.visit(a)
	return tea.Batch(m.catchUp(m.now), m.choose(m.now))
}

// writable says whether the current agent can be spoken to, or why not.
func (m *root) writable() (agent.Agent, error) {
	a, ok := m.agent()
	if !ok {
		return a, nil
	}
	return a, agent.NeedLiving(a)
}

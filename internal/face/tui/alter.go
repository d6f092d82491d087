package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
)

type alteredMsg struct {
	agent id.Agent
	came  tea.Msg
}

// alter does what alters how an agent's next turn goes: one after the other, as they were asked for. A message
// that is said after them waits for them (next): it is meant for the agent as they leave it.
func (m *root) alter(a id.Agent, do tea.Cmd) tea.Cmd {
	s := m.screen(a)
	s.changes = append(s.changes, func() tea.Msg { return alteredMsg{a, do()} })
	if len(s.changes) > 1 {
		return nil
	}
	return s.changes[0]
}

// apply continues with the changes that wait. Where a change failed, what waited for it alone comes back into the prompt: it was
// meant for another agent than this one is.
func (msg alteredMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	if failed(msg.came) && !m.busy(s) {
		s.unqueue()
	}
	if s.changes = s.changes[1:]; len(s.changes) > 0 {
		return tea.Batch(s.changes[0], m.follow(msg.came))
	}
	return tea.Batch(m.follow(msg.came), m.next(s))
}

func failed(came tea.Msg) bool {
	switch came := came.(type) {
	case answerMsg:
		return came.err != nil
	case modeMsg:
		return came.err != nil
	case undoMsg:
		return came.err != nil
	}
	return false
}

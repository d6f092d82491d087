package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/operation"
	"ramet/internal/turn/permit"
)

type modeMsg struct {
	agent id.Agent
	mode  permit.Mode
	err   error
}

// nextMode goes to the next mode of the current agent. It is shown at once, and written
// one after the other.
func (m *root) nextMode() tea.Cmd {
	if m.workspace == nil || m.agents == nil {
		return m.tell(faint, "The workspace is still opening.")
	}
	return m.setMode(m.now.mode.Next())
}

func (m *root) setMode(mode permit.Mode) tea.Cmd {
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	m.now.mode = mode
	if m.choosing {
		return nil // the one that is shown then is written next
	}
	return m.writeMode(m.now.agent, mode)
}

func (m *root) writeMode(a id.Agent, mode permit.Mode) tea.Cmd {
	m.choosing = true
	workspace, ctx := m.workspace, m.ctx
	return m.alter(a, func() tea.Msg {
		_, err := operation.SetMode.Call(ctx, workspace, operation.ModeInput{Agent: operation.AgentRef(a), Mode: new(operation.Mode(mode))})
		return modeMsg{a, mode, err}
	})
}

func (msg modeMsg) apply(m *root) tea.Cmd {
	m.choosing = false
	s := m.screen(msg.agent)
	switch {
	case msg.err != nil:
		s.mode = ""
		return tea.Batch(m.tell(bad, explain(msg.err)), m.look())
	case s.mode != msg.mode && s.mode != "":
		return m.writeMode(msg.agent, s.mode)
	}
	return m.look()
}

func modeStyle(mode permit.Mode) style {
	switch mode {
	case permit.ReadOnly:
		return accent
	case permit.Edits, permit.Box:
		return warn
	}
	return faint
}

package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
)

const pageSize = 120

type pageMsg struct {
	agent id.Agent
	span  Span
	page  Page
	err   error
}

func (m *root) read(s *screen, span Span) tea.Cmd {
	if m.workspace == nil || s.loading || s.agent == "" {
		return nil
	}
	s.loading = true
	workspace, ctx, a := m.workspace, m.ctx, s.agent
	return func() tea.Msg {
		p, err := workspace.Page(ctx, a, span)
		return pageMsg{a, span, p, err}
	}
}

// catchUp reads what is not known yet of a conversation that is looked at.
func (m *root) catchUp(s *screen) tea.Cmd {
	a, ok := m.agents.get(s.agent)
	switch {
	case !ok || s.loading:
		return nil
	case !s.transcript.read:
		return m.read(s, Span{Limit: pageSize})
	case a.Head > s.head || s.behind:
		s.behind = false
		return m.read(s, Span{After: max(1, s.head)})
	}
	return nil
}

func (m *root) reread(s *screen) tea.Cmd {
	s.transcript.read = false
	s.entries = nil
	return m.read(s, Span{Limit: pageSize})
}

func (m *root) older(s *screen) tea.Cmd {
	if !s.more || len(s.entries) == 0 {
		return nil
	}
	return m.read(s, Span{Before: s.first(), Limit: pageSize})
}

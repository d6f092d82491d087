package tui

import (
	tea "charm.land/bubbletea/v2"
)

func (m *root) scroll(n int) tea.Cmd {
	older := m.now.scroll(n)
	m.dirty = true
	if older {
		return m.older(m.now)
	}
	return nil
}

func (m *root) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	n := 3
	if msg.Button == tea.MouseWheelUp {
		n = -3
	} else if msg.Button != tea.MouseWheelDown {
		return nil
	}
	if s, ok := m.over.(interface{ scroll(int) }); ok {
		s.scroll(n)
		return nil
	}
	return m.scroll(n)
}

func (m *root) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.over == nil && msg.Button == tea.MouseLeft && msg.Y >= 0 && msg.Y < len(m.hits) {
		m.now.fold(m.hits[msg.Y])
		m.dirty = true
	}
	return nil
}

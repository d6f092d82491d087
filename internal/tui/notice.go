package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/fault"
)

// noticeFor is how long a notice stays.
const noticeFor = 6 * time.Second

type noticeOverMsg int

// tell shows a notice for a while.
func (m *root) tell(st style, said string) tea.Cmd {
	m.note = notice{text: line(said, 400), style: st, number: m.note.number + 1}
	return m.later(noticeFor, noticeOverMsg(m.note.number))
}

// explain is an error for people.
func explain(err error) string {
	return "error[" + string(fault.CodeOf(err)) + "]: " + err.Error()
}

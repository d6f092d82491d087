package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
)

const noticeFor = 6 * time.Second

type noticeOverMsg int

func (m *root) tell(st style, said string) tea.Cmd {
	m.note = notice{text: line(said, 400), style: st, number: m.note.number + 1}
	return m.later(noticeFor, noticeOverMsg(m.note.number))
}

// lines are the notice, to its end if that is near: there it says what to do.
func (n notice) lines(w int) []string {
	const most = 3
	out := wrap(n.text, max(1, w))
	if len(out) > most {
		out = append(out[:most-1], cut(strings.Join(out[most-1:], " "), w))
	}
	for i, l := range out {
		out[i] = n.style.of(l)
	}
	return out
}

func explain(err error) string {
	return "error[" + string(fault.CodeOf(err)) + "]: " + err.Error()
}

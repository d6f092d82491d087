package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/turn/loop"
)

// notify tells a person who looks elsewhere; nobody is told who looks here. A terminal that does
// not say whether it is in front is.
func (m *root) notify(what string) tea.Cmd {
	if !m.away || m.o.Notify == nil {
		return nil
	}
	sequence := m.o.Notify("ramet", text.Line(what, 200))
	if sequence == "" {
		return nil
	}
	return m.send(sequence)
}

func (m *root) notifyEnd(e loop.Event) tea.Cmd {
	who := m.agents.label(e.Agent)
	switch {
	case e.Err == nil:
		return m.notify(who + " is done: " + lastLine(e.Outcome))
	case fault.Is(e.Err, fault.Cancelled), fault.Is(e.Err, fault.Interrupted), fault.Is(e.Err, fault.DeadAgent):
		return nil
	}
	return m.notify(who + " failed: " + e.Err.Error())
}

func lastLine(o *loop.Outcome) string {
	if o == nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(o.Text), "\n")
	return first
}

package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

func (events eventsMsg) apply(m *root) tea.Cmd {
	cmds := []tea.Cmd{m.events.next(m.ctx)}
	look := false
	for _, e := range events {
		cmd, changed := m.event(e)
		if e.Agent != "" {
			m.clock(m.screen(e.Agent))
		}
		cmds = append(cmds, cmd)
		look = look || changed
	}
	if look {
		cmds = append(cmds, m.look())
	}
	cmds = append(cmds, m.homeChanged())
	return tea.Batch(cmds...)
}

// event follows one. changed says that agents are not what they were.
func (m *root) event(e loop.Event) (cmd tea.Cmd, changed bool) {
	if e.Agent == "" {
		if e.Type == loop.Note {
			return m.tell(warn, e.Text), false
		}
		return nil, true
	}
	s := m.screen(e.Agent)
	s.live.take(e, m.o.Now())
	s.join()
	switch e.Type {
	case loop.Became:
		return m.became(s, e), e.State == nil
	case loop.TurnStarted:
		return nil, true
	case loop.CallStarted:
		return m.handOver(s), false
	case loop.Recorded:
		s.heard(*e.Entry)
		m.toldModel(s, *e.Entry)
		return m.recorded(s, *e.Entry), e.Entry.Kind != history.ToolResult
	case loop.TurnEnded:
		s.stopping = false
		// It may have been one that nobody here asked for, such as a task.
		return tea.Batch(m.news(e), m.notifyEnd(e), m.catchUpLater(s), m.next(s)), true
	case loop.Forked, loop.Killed, loop.Mailed, loop.Spent:
		return m.news(e), true
	case loop.Note:
		return m.news(e), false
	}
	return nil, false
}

// recorded takes an entry that became durable. One with large contents is read as a
// page.
func (m *root) recorded(s *screen, e history.Entry) tea.Cmd {
	if e.Kind == history.Assistant || e.Kind == history.Interrupted {
		defer s.live.said()
	}
	if !s.transcript.read {
		return nil
	}
	read, whole := decode(e)
	if !whole || s.behind || s.loading {
		s.behind = true
		if s == m.now {
			return m.catchUp(s)
		}
		return nil
	}
	if s.stored(read) {
		return m.reread(s)
	}
	return nil
}

// catchUpLater reads what a turn left, once it is over.
func (m *root) catchUpLater(s *screen) tea.Cmd {
	if s.transcript.read {
		s.behind = true
	}
	if s == m.now {
		return m.catchUp(s)
	}
	return nil
}

// news tells what happened to others, without moving the screen.
func (m *root) news(e loop.Event) tea.Cmd {
	who := m.agents.label(e.Agent)
	here := e.Agent == m.now.agent
	switch e.Type {
	case loop.TurnEnded:
		switch {
		case here:
		case e.Err == nil:
			return m.tell(good, who+" is done: "+lastLine(e.Outcome))
		case fault.Is(e.Err, fault.Cancelled), fault.Is(e.Err, fault.Interrupted), fault.Is(e.Err, fault.DeadAgent):
			return m.tell(warn, who+" was stopped")
		default:
			return m.tell(bad, who+" failed: "+e.Err.Error())
		}
	case loop.Forked:
		if m.screen(e.Agent).barrier == nil && len(e.Children) > 0 && !m.mine[e.Children[0]] { // not by the user
			return m.tell(accent, who+" forked "+text.Count(len(e.Children), "child"))
		}
	case loop.Killed:
		return m.tell(warn, who+" was killed")
	case loop.Mailed:
		return m.tell(accent, "Mail for "+who)
	case loop.Note:
		return m.tell(warn, who+": "+pointed(e.Text))
	}
	return nil
}

// became takes what an agent does from now on.
func (m *root) became(s *screen, e loop.Event) tea.Cmd {
	if e.State == nil || m.agents == nil {
		return nil
	}
	m.agents.States[e.Agent], m.fresh[e.Agent] = *e.State, *e.State
	if e.State.Busy() {
		return nil
	}
	s.stopping = false
	return m.next(s)
}

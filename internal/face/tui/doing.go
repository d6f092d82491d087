package tui

import (
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// busy says whether an agent does something that can be stopped, whoever runs it.
func (m *root) busy(s *screen) bool {
	return s.working() || m.agents != nil && m.agents.States[s.agent].Busy()
}

// needsKey reports whether an agent waits for the key of its model, which a prompt of this terminal may bring.
func (m *root) needsKey(s *screen) bool {
	return !s.working() && m.agents != nil && m.agents.States[s.agent].Word == state.NeedsKey
}

func (m *root) occupied(s *screen) bool { return m.busy(s) && !m.needsKey(s) }

// stoppable says whether there is something to stop where the user is.
func (m *root) stoppable() bool { return m.now.barrier != nil || m.now.shell != nil || m.busy(m.now) }

func (m *root) state(a agent.Agent) (string, style) {
	now, s := state.State{Word: state.Idle}, m.screens[a.ID]
	if m.agents != nil && m.agents.States[a.ID].Word != "" {
		now = m.agents.States[a.ID]
	}
	for _, q := range m.questions {
		if q.Agent == a.ID && now.Word != state.Killed && !(s != nil && s.stopping) {
			now = state.State{Word: state.Asks}
		}
	}
	if s != nil && s.stopping {
		return state.Stopping, warn
	}
	if s != nil && s.working() && !now.Busy() {
		now = state.State{Word: state.Working, Detail: state.Starts}
	}
	return now.Short(22), tone(now)
}

// clock begins anew when an agent does something else: what is told is how long it does that, and the
// time that a person took to answer is no part of the call that was asked about.
func (m *root) clock(s *screen) {
	a, ok := m.agents.get(s.agent)
	if !ok {
		return
	}
	word, _ := m.state(a)
	if s.live.doing != "" && s.live.doing != word {
		s.live.since = m.o.Now()
	}
	s.live.doing = word
}

// moving says whether something on the screen of the current agent moves by itself. Nothing does
// while a person is asked, but that keys become the question's when its quiet time is over.
func (m *root) moving() bool {
	q := m.question()
	return m.occupied(m.now) && (q == nil || q.Quiet(m.o.Now()))
}

func tone(s state.State) style {
	switch s.Word {
	case state.Working, state.Waits:
		return good
	case state.Asks, state.NeedsKey, state.Interrupted:
		return warn
	case state.Failed:
		return bad
	}
	return faint
}

package tui

import (
	"crypto/rand"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

func (m *root) sent(said string) {
	m.memory.remember(said)
	m.past.at = len(m.memory.Said)
	m.now.input.set("", 0)
	m.now.at = nil
	m.offer.close()
	m.dirty = true
}

// next begins the turn of the oldest message that waits, if the agent is free and is as it was meant to be.
func (m *root) next(s *screen) tea.Cmd {
	if m.workspace == nil || s.agent == "" || m.occupied(s) || s.stopping || len(s.changes) > 0 || len(s.queue) == 0 {
		return nil
	}
	said := s.queue[0]
	s.queue = s.queue[1:]
	m.dirty = true
	return m.begin(s, said)
}

type turnMsg struct {
	agent  id.Agent
	said   string
	kept   bool // it stands in the history
	err    error
	ticket string
}

func (m *root) begin(s *screen, said string) tea.Cmd {
	s.turns++
	s.ticket = rand.Text()
	workspace, ctx, a, model, ticket := m.workspace, m.ctx, s.agent, s.model, s.ticket
	return func() tea.Msg {
		kept, err := workspace.Turn(ctx, a, said, model, ticket)
		return turnMsg{agent: a, said: said, kept: kept, err: err}
	}
}

// apply follows the end of a turn that we asked for. What was not said is given back: it
// exists once, in the history or in the prompt.
func (msg turnMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	s.turns--
	s.stopping = false
	stopped := fault.Is(msg.err, fault.Cancelled) || fault.Is(msg.err, fault.Interrupted)
	if msg.err != nil {
		s.unqueue()
	}
	if !s.gotBack(msg) && msg.err != nil && !msg.kept && msg.said != "" {
		s.giveBack(msg.said)
	}
	m.dirty = true
	if s != m.now {
		m.stow(s)
	}
	if msg.err != nil && !stopped && !fault.Is(msg.err, fault.DeadAgent) {
		s.tell(&block{form: trouble, body: explain(msg.err)})
	}
	if s.turns == 0 {
		s.live.working = false
		if m.agents != nil && m.agents.States[msg.agent].Busy() {
			delete(m.agents.States, msg.agent) // the look tells
		}
	}
	return tea.Batch(m.look(), m.next(s))
}

// halt stops the turn of the current agent, or the fork that waits. What waits to be said
// goes back into the prompt.
func (m *root) halt() tea.Cmd {
	s := m.now
	if s.barrier != nil {
		s.barrier()
		return nil
	}
	if s.shell != nil {
		s.shell()
		return nil
	}
	if s.stopping || m.workspace == nil {
		return nil
	}
	s.stopping = true
	s.unqueue()
	m.dirty = true
	workspace, ctx, a, tickets := m.workspace, m.ctx, s.agent, s.tickets()
	return func() tea.Msg {
		ended, err := workspace.Stop(ctx, a, tickets...)
		return stoppedMsg{a, ended, err}
	}
}

type stoppedMsg struct {
	agent id.Agent
	ended bool
	err   error
}

// apply follows the end of a stop: how the turn ended the events tell, and until then it is
// stopping; what could not be stopped is said.
func (msg stoppedMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	s.stopping = s.stopping && msg.ended && msg.err == nil && m.busy(s)
	if msg.err != nil && !fault.Is(msg.err, fault.Cancelled) {
		return tea.Batch(m.look(), m.tell(bad, explain(msg.err)))
	}
	return m.look()
}

package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/operation/public"
	"ramet/internal/turn/permit"
)

type agentsMsg struct {
	agents *agents
	facts  *public.HomeFacts // with them; nil: nobody is on Home
	of     id.Agent
	mode   permit.Mode     // how the calls of that agent are permitted
	drives *public.Program // the program that drives it; nil: none
	err    error
}

// look reads who is there. Any number of wishes to look become one.
func (m *root) look() tea.Cmd {
	if m.workspace == nil {
		return nil
	}
	if m.looking {
		m.again = true
		return nil
	}
	m.looking, m.again = true, false
	clear(m.fresh)
	workspace, ctx, a, all := m.workspace, m.ctx, m.now.agent, m.hall.on
	return func() tea.Msg {
		var c Agents
		var facts *public.HomeFacts
		var err error
		if all {
			var f public.HomeFacts
			f, err = workspace.Overview(ctx)
			facts, c = &f, Agents{All: f.All, States: f.States}
		} else {
			c, err = workspace.Agents(ctx)
		}
		if err != nil {
			return agentsMsg{err: err}
		}
		mode, err := workspace.Mode(ctx, a)
		if err != nil {
			mode = "" // an agent that is gone; nothing is shown
		}
		all := newAgents(c)
		return agentsMsg{agents: all, facts: facts, of: a, mode: mode, drives: drives(ctx, workspace, all, a)}
	}
}

// lookLater looks at everybody again, although whatever happens is told: nothing may be
// wrong for long.
func (m *root) lookLater() tea.Cmd { return m.later(15*time.Second, lookMsg{}) }

type lookMsg struct{}

func (m *root) choose(s *screen) tea.Cmd {
	a, ok := m.agents.get(s.agent)
	if !ok || m.workspace == nil {
		return nil
	}
	if _, known := m.models[s.agent]; known {
		return nil
	}
	found, err := m.workspace.Model(a, s.model)
	m.models[s.agent] = chosen{found, err}
	return nil
}

package tui

import (
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/operation/session"
)

// kill asks, with the count, and then ends agents.
func (m *root) kill(c session.Command) tea.Cmd {
	victim, ok := m.agent()
	if c.Agent != "" {
		victim, ok = m.agents.find(c.Agent)
	}
	switch {
	case !ok:
		return m.noAgent(c.Agent)
	case victim.IsZero():
		return m.tell(bad, "error[AGENT_ZERO]: agent 0 is the root of the workspace and cannot be killed")
	}
	cascade, below := c.Cascade || m.o.Cascade, m.agents.below(victim.ID)
	text := "Kill " + victim.Label()
	switch {
	case below > 0 && cascade:
		text += " and " + count(below, "agent") + " below it (" + fmt.Sprint(below+1) + " in all)"
	case below > 0:
		text += "; " + count(below, "agent") + " below it live on"
	}
	m.over = confirm{text: text + "?", yes: func() tea.Cmd { return m.killNow(victim, cascade) }}
	return nil
}

func (m *root) killNow(victim agent.Agent, cascade bool) tea.Cmd {
	to := id.Agent("")
	for up, ok := m.now.agent, true; ok; { // is the current one among the victims?
		if up == victim.ID {
			to, _ = m.agents.up(victim.ID)
			break
		}
		if !cascade {
			break
		}
		a, known := m.agents.get(up)
		up, ok = a.Parent, known && a.Parent != ""
	}
	workspace, ctx := m.workspace, m.ctx
	back := m.now.agent
	if to != "" {
		back = to
	}
	return func() tea.Msg {
		said, err := workspace.Command(ctx, "kill", string(victim.ID), "--cascade="+strconv.FormatBool(cascade), "--reason", "killed by the user")
		return answerMsg{agent: back, title: "/kill " + victim.Label(), text: said, err: err, to: to}
	}
}

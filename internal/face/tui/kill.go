package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

func (m *root) kill(c session.Command) tea.Cmd {
	bound, err := operation.BindSlash(&operation.Kill, c.Values, m.now.agent)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	in := bound.(*operation.KillInput)
	victim, ok := m.agents.find(string(in.Agent))
	switch {
	case !ok:
		return m.noAgent(string(in.Agent))
	case victim.IsZero():
		return m.tell(bad, "error[AGENT_ZERO]: agent 0 is the root of the workspace and cannot be killed")
	}
	cascade, below := in.Cascade != nil || m.o.Cascade, m.agents.below(victim.ID)
	question, label := killText(victim.Label(), 1), "Kill 1 agent"
	switch {
	case below > 0 && cascade:
		question, label = killText(victim.Label(), below+1), fmt.Sprintf("Kill all %d", below+1)
	case below > 0:
		question += " " + text.Count(below, "agent") + " in its subtree will keep running."
	}
	m.ask(question, cancel, option{"", label, func() tea.Cmd { return m.killNow(victim, cascade, in.Reason) }})
	return nil
}

// killNow ends an agent. Without a reason, the record says that the user did it.
func (m *root) killNow(victim agent.Agent, cascade bool, reason *string) tea.Cmd {
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
	if reason == nil {
		reason = new("killed by the user")
	}
	in := &operation.KillInput{Agent: operation.AgentRef(victim.ID), Cascade: &cascade, Reason: reason}
	return func() tea.Msg {
		said, err := workspace.Print(ctx, &operation.Kill, in)
		return answerMsg{agent: back, title: "/kill " + victim.Label(), text: said, err: err, to: to}
	}
}

package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

type forkedMsg struct {
	parent id.Agent
	child  agent.Agent
	said   string // the line that asked for it
	err    error
}

func (m *root) fork(c session.Command, said string) tea.Cmd {
	in, err := operation.BindSlash(&operation.Fork, c.Values, m.now.agent)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	return m.forkNow(*in.(*operation.ForkInput), m.now.model, said)
}

// forkNow forks as in asks; model is the child's if in names none.
func (m *root) forkNow(in operation.ForkInput, model llm.Ref, said string) tea.Cmd {
	parent := id.Agent(in.Agent)
	s := m.screen(parent)
	if s.barrier != nil {
		return m.tell(warn, "A fork of this agent is already waiting for running tools.")
	}
	known, ok := m.agents.get(parent)
	if !ok {
		return m.tell(faint, "The workspace is still opening.")
	}
	if err := agent.NeedLiving(known); err != nil {
		return m.tell(bad, explain(err))
	}
	if in.Model == "" && in.Driver == "" && model != (llm.Ref{}) {
		in.Model = operation.Model(model.String())
	}
	in.Start = operation.StartTurn
	ctx, cancel := context.WithCancel(m.ctx)
	s.barrier = cancel
	workspace := m.workspace
	return func() tea.Msg {
		defer cancel()
		done, err := operation.Fork.Call(ctx, workspace, in)
		return forkedMsg{parent, done.Child, said, operation.Explain(&operation.Fork, operation.Slash, err)}
	}
}

func (msg forkedMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.parent)
	s.barrier, s.live.note = nil, ""
	switch {
	case fault.Is(msg.err, fault.Cancelled):
		return m.tell(warn, "Fork cancelled.")
	case msg.err != nil:
		s.refused(msg.said, msg.err)
		return nil
	}
	s.behind = s.transcript.read
	m.mine[msg.child.ID] = true
	child := m.screen(msg.child.ID)
	child.model = s.model
	cmds := []tea.Cmd{m.look(), m.catchUp(s)}
	said := "Forked " + msg.child.Label()
	if parent, ok := m.agents.get(msg.parent); ok && parent.Cwd != msg.child.Cwd {
		said += ". It has its own copy of the files. To merge them: `ramet merge " + msg.child.Label() + "`"
	} else {
		said += ". Files are shared with " + m.agents.label(msg.parent)
	}
	if _, ok := m.agents.get(msg.child.ID); !ok { // it is known before the next look is over
		c := m.agents.Agents
		c.All = append(c.All[:len(c.All):len(c.All)], msg.child)
		m.agents = newAgents(c)
	}
	switch {
	case m.hall.on:
		cmds = append(cmds, m.homeForked(msg.child.ID))
	case m.o.Follow && m.now == s && m.over == nil:
		cmds = append(cmds, m.goTo(msg.child.ID))
	}
	if len(m.agents.living) == 2 {
		said += ". Press ← on an empty prompt to see all agents."
	}
	cmds = append(cmds, m.tell(good, said))
	return tea.Batch(cmds...)
}

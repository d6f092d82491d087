package tui

import (
	"cmp"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

type alteredMsg struct {
	agent id.Agent
	came  tea.Msg
}

// alter does what alters how an agent's next turn goes: one after the other, as they were asked for. A message
// that is said after them waits for them (next): it is meant for the agent as they leave it.
func (m *root) alter(a id.Agent, do tea.Cmd) tea.Cmd {
	s := m.screen(a)
	s.changes = append(s.changes, func() tea.Msg { return alteredMsg{a, do()} })
	if len(s.changes) > 1 {
		return nil
	}
	return s.changes[0]
}

// apply continues with the changes that wait. Where a change failed, what waited for it alone comes back into the prompt: it was
// meant for another agent than this one is.
func (msg alteredMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	if failed(msg.came) && !m.busy(s) {
		s.unqueue()
	}
	if s.changes = s.changes[1:]; len(s.changes) > 0 {
		return tea.Batch(s.changes[0], m.follow(msg.came))
	}
	return tea.Batch(m.follow(msg.came), m.next(s))
}

func failed(came tea.Msg) bool {
	switch came := came.(type) {
	case answerMsg:
		return came.err != nil
	case modeMsg:
		return came.err != nil
	case undoMsg:
		return came.err != nil
	}
	return false
}

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
	back := cmp.Or(to, m.now.agent)
	in := &operation.KillInput{Agent: operation.AgentRef(victim.ID), Cascade: &cascade, Reason: cmp.Or(reason, new("killed by the user"))}
	return func() tea.Msg {
		said, err := workspace.Print(ctx, &operation.Kill, in)
		return answerMsg{agent: back, title: "/kill " + victim.Label(), text: said, err: err, to: to}
	}
}

type modeMsg struct {
	agent id.Agent
	mode  permit.Mode
	err   error
}

// nextMode goes to the next mode of the current agent. It is shown at once, and written
// one after the other.
func (m *root) nextMode() tea.Cmd {
	if m.workspace == nil || m.agents == nil {
		return m.tell(faint, "The workspace is still opening.")
	}
	return m.setMode(m.now.mode.Next())
}

func (m *root) setMode(mode permit.Mode) tea.Cmd {
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	m.now.mode = mode
	if m.choosing {
		return nil // the one that is shown then is written next
	}
	return m.writeMode(m.now.agent, mode)
}

func (m *root) writeMode(a id.Agent, mode permit.Mode) tea.Cmd {
	m.choosing = true
	workspace, ctx := m.workspace, m.ctx
	return m.alter(a, func() tea.Msg {
		_, err := operation.SetMode.Call(ctx, workspace, operation.ModeInput{Agent: operation.AgentRef(a), Mode: new(operation.Mode(mode))})
		return modeMsg{a, mode, err}
	})
}

func (msg modeMsg) apply(m *root) tea.Cmd {
	m.choosing = false
	s := m.screen(msg.agent)
	switch {
	case msg.err != nil:
		s.mode = ""
		return tea.Batch(m.tell(bad, explain(msg.err)), m.look())
	case s.mode != msg.mode && s.mode != "":
		return m.writeMode(msg.agent, s.mode)
	}
	return m.look()
}

func modeStyle(mode permit.Mode) style {
	switch mode {
	case permit.ReadOnly:
		return accent
	case permit.Edits, permit.Box:
		return warn
	}
	return faint
}

func (m *root) setModel(name string) tea.Cmd {
	if name == "" {
		return m.openModels()
	}
	model, err := catalog.Parse(name)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	return m.useModel(model)
}

func (m *root) useModel(model llm.Ref) tea.Cmd {
	a, ok := m.agent()
	if !ok {
		return nil
	}
	found, err := m.workspace.Model(a, model)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	m.now.model, m.dirty = model, true
	m.models[a.ID] = chosen{Model: found}
	return m.tell(good, "This agent now uses "+found.Ref.String())
}

func (m *root) openModels() tea.Cmd {
	usable := append(m.workspace.Usable(), m.found...)
	var choices []choice
	at := 0
	for i, model := range usable {
		extra := ""
		if model.Context > 0 {
			extra = tokens(model.Context)
		}
		if model.Ref == m.models[m.now.agent].Ref {
			at = i
		}
		choices = append(choices, choice{line(model.Ref.String(), 60), extra, i})
	}
	m.over = newPicker("model", choices, at, func(m *root, i int) tea.Cmd { return m.useModel(usable[i].Ref) })
	return nil
}

// toldModel takes that an agent was told a model, here or elsewhere: it is the agent's
// now, and a choice that was made here has been carried out, or was overtaken.
func (m *root) toldModel(s *screen, e history.Entry) {
	if e.Kind != history.Command {
		return
	}
	told, err := e.Decode()
	a, known := m.agents.get(s.agent)
	if err != nil || told.Command != registry.ModelCommand || !known || m.workspace == nil {
		return
	}
	a.Provider, a.Model = told.Provider, told.Model
	s.model, m.dirty = llm.Ref{}, true
	found, err := m.workspace.Model(a, llm.Ref{})
	m.models[s.agent] = chosen{found, err}
}

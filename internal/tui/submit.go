package tui

import (
	"context"
	"crypto/rand"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/state"
)

// submit sends what stands in the prompt.
func (m *root) submit() tea.Cmd {
	said := strings.TrimSpace(m.now.input.text())
	switch {
	case said == "":
		return m.goOn()
	case strings.HasPrefix(said, "/"):
		return m.slash(said)
	case strings.HasPrefix(said, "!") && len(said) > 1:
		return m.shell(said)
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	m.sent(said)
	m.now.queue = append(m.now.queue, said)
	return m.next(m.now)
}

// sent empties the prompt.
func (m *root) sent(said string) {
	m.memory.remember(said)
	m.past.at = len(m.memory.Said)
	m.now.input.set("", 0)
	m.now.at = nil
	m.offer.close()
	m.dirty = true
}

// goOn continues what was interrupted.
func (m *root) goOn() tea.Cmd {
	a, ok := m.agent()
	if !ok || m.busy(m.now) || m.workspace == nil {
		return nil
	}
	unanswered := m.now.transcript.read && m.now.open()
	if m.agents.States[a.ID].Word != state.Interrupted && !unanswered {
		return nil
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	return m.begin(m.now, "")
}

// next begins the turn of the oldest message that waits, if the agent is free.
func (m *root) next(s *screen) tea.Cmd {
	if m.workspace == nil || s.agent == "" || m.busy(s) || s.stopping || len(s.queue) == 0 {
		return nil
	}
	said := s.queue[0]
	s.queue = s.queue[1:]
	m.dirty = true
	return m.begin(s, said)
}

type turnMsg struct {
	agent id.Agent
	said  string
	kept  bool // it stands in the history
	err   error
}

func (m *root) begin(s *screen, said string) tea.Cmd {
	s.turns++
	s.ticket = rand.Text()
	workspace, ctx, a, model, ticket := m.workspace, m.ctx, s.agent, s.model, s.ticket
	return func() tea.Msg {
		kept, err := workspace.Turn(ctx, a, said, model, ticket)
		return turnMsg{a, said, kept, err}
	}
}

// turned follows the end of a turn that we asked for. What was not said is given back: it
// exists once, in the history or in the prompt.
func (m *root) turned(msg turnMsg) tea.Cmd {
	s := m.screen(msg.agent)
	s.turns--
	s.stopping = false
	stopped := fault.Is(msg.err, fault.Cancelled) || fault.Is(msg.err, fault.Interrupted)
	if msg.err != nil {
		s.unqueue()
	}
	if msg.err != nil && !msg.kept && msg.said != "" {
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
	workspace, ctx, a, ticket := m.workspace, m.ctx, s.agent, s.ticket
	return func() tea.Msg {
		ended, err := workspace.Stop(ctx, a, ticket)
		return stoppedMsg{a, ended, err}
	}
}

type stoppedMsg struct {
	agent id.Agent
	ended bool
	err   error
}

// stopped follows the end of a stop: how the turn ended the events tell, and until then it is
// stopping; what could not be stopped is said.
func (m *root) stopped(msg stoppedMsg) tea.Cmd {
	s := m.screen(msg.agent)
	s.stopping = s.stopping && msg.ended && msg.err == nil && m.busy(s)
	if msg.err != nil && !fault.Is(msg.err, fault.Cancelled) {
		return tea.Batch(m.look(), m.tell(bad, explain(msg.err)))
	}
	return m.look()
}

type shellMsg struct {
	text string
	over bool
	err  error
	from <-chan shellMsg
	to   *block
	on   *screen
}

// shell runs a command of the user's.
func (m *root) shell(said string) tea.Cmd {
	if m.workspace == nil {
		return m.tell(faint, "the workspace is still being opened")
	}
	cmdline := strings.TrimSpace(said[1:])
	m.sent(said)
	s := m.now
	b := &block{form: call, title: "!", about: cmdline}
	s.tell(b)
	pieces := make(chan shellMsg, 16)
	ctx, stop := context.WithCancel(m.ctx)
	s.shell = stop
	workspace, a := m.workspace, s.agent
	go func() {
		defer stop()
		err := workspace.Shell(ctx, a, cmdline, func(piece string) { pieces <- shellMsg{text: piece} })
		pieces <- shellMsg{over: true, err: err}
	}()
	return waitShell(s, b, pieces)
}

func waitShell(s *screen, b *block, pieces <-chan shellMsg) tea.Cmd {
	return func() tea.Msg {
		msg := <-pieces
		msg.from, msg.to, msg.on = pieces, b, s
		return msg
	}
}

// printed takes a piece of what a command of the user's prints.
func (m *root) printed(msg shellMsg) tea.Cmd {
	b := msg.to
	b.body += msg.text
	if len(b.body) > 2*maxShell {
		b.rest += int64(len(b.body) - maxShell)
		b.body = b.body[len(b.body)-maxShell:]
	}
	if !msg.over {
		return waitShell(msg.on, b, msg.from)
	}
	b.done, msg.on.shell = true, nil
	if msg.err != nil {
		b.isError = true
		b.body = strings.TrimRight(b.body, "\n") + "\n" + msg.err.Error()
	}
	return nil
}

// maxShell is how much is kept of what a command of the user's prints.
const maxShell = 1 << 20

package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/fault"
	"ramet/internal/id"
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
	if !ok || m.now.working() || m.desk == nil {
		return nil
	}
	if word, _ := m.state(a); word != "interrupted" {
		return nil
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	return m.begin(m.now, "")
}

// next begins the turn of the oldest message that waits, if the agent is free.
func (m *root) next(s *screen) tea.Cmd {
	if m.desk == nil || s.agent == "" || s.working() || len(s.queue) == 0 {
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
	err   error
}

func (m *root) begin(s *screen, said string) tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	s.turns++
	s.begun, s.stop = false, stop
	desk, a, model := m.desk, s.agent, s.model
	return func() tea.Msg {
		defer stop()
		return turnMsg{a, said, desk.Turn(ctx, a, said, model)}
	}
}

// turned follows the end of a turn that we asked for.
func (m *root) turned(msg turnMsg) tea.Cmd {
	s := m.screen(msg.agent)
	s.turns--
	s.live.stopping = false
	stopped := fault.Is(msg.err, fault.Cancelled) || fault.Is(msg.err, fault.Interrupted)
	if msg.err != nil {
		s.unqueue()
	}
	if msg.err != nil && !s.begun && msg.said != "" {
		s.giveBack(msg.said) // nothing was written
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
	}
	return tea.Batch(m.look(), m.next(s))
}

// halt stops the turn of the current agent, or the fork that waits.
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
	if s.live.stopping {
		return nil
	}
	s.live.stopping = true
	s.unqueue()
	m.dirty = true
	if s.stop != nil {
		s.stop()
	}
	desk, ctx, a := m.desk, m.ctx, s.agent
	return func() tea.Msg {
		desk.Stop(ctx, a) // how it ended the events tell
		return stoppedMsg{}
	}
}

type stoppedMsg struct{}

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
	if m.desk == nil {
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
	desk, a := m.desk, s.agent
	go func() {
		defer stop()
		err := desk.Shell(ctx, a, cmdline, func(piece string) { pieces <- shellMsg{text: piece} })
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

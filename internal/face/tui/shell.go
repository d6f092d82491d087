package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
)

type shellMsg struct {
	text string
	over bool
	err  error
	from <-chan shellMsg
	to   *block
	on   *screen
}

func (m *root) shell(said string) tea.Cmd {
	if m.workspace == nil {
		return m.tell(faint, "The workspace is still opening.")
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

func (msg shellMsg) apply(m *root) tea.Cmd {
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

const maxShell = 1 << 20

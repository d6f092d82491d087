package tui

import (
	"crypto/rand"
	"slices"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/core/history"
)

// handed is something that was typed while the agent worked and that its kernel has: it is said
// behind the results of the running step, or when the turn is over, or comes back.
type handed struct {
	said, ticket string
	over         bool // it was said, or is back
	back         bool
}

// handOver gives what waits to the kernel while tools run: behind their results it is said. While
// only the model speaks it stays here, where Esc finds it.
func (m *root) handOver(s *screen) tea.Cmd {
	if m.workspace == nil || s.agent == "" || s.stopping || len(s.queue) == 0 || !s.live.acts() {
		return nil
	}
	var cmds []tea.Cmd
	for _, said := range s.queue {
		h := handed{said: said, ticket: rand.Text()}
		s.handed = append(s.handed, h)
		s.turns++
		workspace, ctx, a, model := m.workspace, m.ctx, s.agent, s.model
		cmds = append(cmds, func() tea.Msg {
			kept, err := workspace.Turn(ctx, a, h.said, model, h.ticket)
			return turnMsg{agent: a, said: h.said, kept: kept, err: err, ticket: h.ticket}
		})
	}
	s.queue = nil
	m.dirty = true
	return tea.Batch(cmds...)
}

func (l *live) acts() bool {
	return l.working && slices.ContainsFunc(l.calls, func(b *block) bool { return !b.done })
}

// heard follows an entry: what it says is not waited for any more.
func (s *screen) heard(e history.Entry) {
	if e.Kind != history.User || len(s.handed) == 0 {
		return
	}
	read, _ := decode(e)
	text := history.Plain(read.Parts)
	for i, h := range s.handed {
		if !h.over && h.said == text {
			s.handed[i].over = true
			return
		}
	}
}

// gotBack follows the end of a turn that was asked for while another was under way; false: it was
// none. What was not said goes back into the prompt, in its order, when all are over.
func (s *screen) gotBack(msg turnMsg) bool {
	i := slices.IndexFunc(s.handed, func(h handed) bool { return h.ticket == msg.ticket && msg.ticket != "" })
	if i < 0 {
		return false
	}
	s.handed[i].over, s.handed[i].back = true, msg.err != nil && !msg.kept
	s.handed[i].ticket = ""
	if slices.ContainsFunc(s.handed, func(h handed) bool { return h.ticket != "" }) {
		return true
	}
	for _, h := range slices.Backward(s.handed) {
		if h.back {
			s.giveBack(h.said)
		}
	}
	s.handed = nil
	return true
}

// waiting is everything that was typed and not said yet.
func (s *screen) waiting() []string {
	var out []string
	for _, h := range s.handed {
		if !h.over {
			out = append(out, h.said)
		}
	}
	return append(out, s.queue...)
}

// tickets are those of the turn and of everything that was handed over.
func (s *screen) tickets() []string {
	out := []string{s.ticket}
	for _, h := range s.handed {
		if h.ticket != "" {
			out = append(out, h.ticket)
		}
	}
	return out
}

// decode reads an entry; whole is false where something of it stands elsewhere.
func decode(e history.Entry) (Entry, bool) {
	out := Entry{Entry: e}
	parts, err := e.Parts()
	meta, merr := e.Decode()
	if err != nil || merr != nil {
		return out, false
	}
	out.Parts, out.About = parts, meta
	for _, p := range parts {
		if p.Blob != nil {
			return out, false
		}
	}
	return out, true
}

package tui

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
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

func (m *root) submit() tea.Cmd {
	typed := m.now.input.Text()
	said := strings.TrimSpace(typed)
	switch {
	case said == "" && m.tour.on && !m.busy(m.now):
		return m.tourOn()
	case said == "":
		return m.goOn()
	case strings.HasPrefix(said, "/") && said[0] != typed[0]:
		return m.prompt(" " + said) // the slash is meant
	case strings.HasPrefix(said, "/"):
		return m.slash(said)
	case strings.HasPrefix(said, "!") && len(said) > 1:
		return m.shell(said)
	}
	return m.prompt(said)
}

func (m *root) prompt(said string) tea.Cmd {
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	m.sent(said)
	m.now.queue = append(m.now.queue, said)
	return tea.Batch(m.next(m.now), m.handOver(m.now))
}

func (m *root) goOn() tea.Cmd {
	a, ok := m.agent()
	if !ok || m.occupied(m.now) || m.workspace == nil {
		return nil
	}
	unanswered := m.now.transcript.read && m.now.open()
	if !m.agents.States[a.ID].Resumes() && !unanswered {
		return nil
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	return m.begin(m.now, "")
}

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

// waiting returns everything that was typed and not said yet.
func (s *screen) waiting() []string {
	var out []string
	for _, h := range s.handed {
		if !h.over {
			out = append(out, h.said)
		}
	}
	return append(out, s.queue...)
}

// tickets returns those of the turn and of everything that was handed over.
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

// goOnAll takes up everything that was interrupted, those below first: who waits for them
// finds them at work.
func (m *root) goOnAll() tea.Cmd {
	if m.workspace == nil || m.agents == nil {
		return nil
	}
	var cut []agent.Agent
	for _, a := range m.agents.All {
		if a.Status == agent.Running && m.agents.States[a.ID].Resumes() && !strings.HasPrefix(a.Name, session.RunName) &&
			!m.occupied(m.screen(a.ID)) {
			cut = append(cut, a)
		}
	}
	if len(cut) == 0 {
		return m.tell(plain, "Nothing was interrupted.")
	}
	slices.SortStableFunc(cut, func(a, b agent.Agent) int { return cmp.Compare(b.Depth, a.Depth) })
	cmds := []tea.Cmd{m.tell(plain, "Resuming "+text.Count(len(cut), "agent"))}
	for _, a := range cut {
		cmds = append(cmds, m.begin(m.screen(a.ID), ""))
	}
	return tea.Batch(cmds...)
}

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

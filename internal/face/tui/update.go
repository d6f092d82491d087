package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
)

// Update follows what happened.
func (m *root) Update(msg tea.Msg) tea.Cmd {
	cmd := m.follow(msg)
	return tea.Batch(cmd, m.saveSoon(), m.tick())
}

func (m *root) follow(msg tea.Msg) tea.Cmd {
	defer func() { m.noticeQuestion(); m.clock(m.now) }()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
		m.paint()
	case tea.BackgroundColorMsg:
		m.light = !msg.IsDark()
		m.paint()
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.BlurMsg:
		m.away = true
	case tea.FocusMsg:
		m.away = false
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case foundMsg:
		m.found = msg
	case usableMsg:
		m.usable = msg
	case unaskedMsg:
		return m.unasked(msg.q)
	case filesMsg:
		m.offer.files(m, msg)
	case tickMsg:
		m.ticking = false
		m.frame++
	case lookMsg:
		return tea.Batch(m.look(), m.lookLater())
	case homeMsg:
		return m.updateHome()
	case saveMsg:
		return m.save()
	case savedMsg:
		m.saving = false
		if len(msg.gone) > 0 {
			m.memory.unsay(msg.gone)
			m.past.at = len(m.memory.Said)
		}
		if msg.err != nil {
			return m.tell(bad, "Couldn't save drafts: "+msg.err.Error())
		}
		m.desk.said = msg.said
	case noticeOverMsg:
		if int(msg) == m.note.number {
			m.note.text = ""
		}
	case effect:
		return msg.apply(m)
	}
	return nil
}

// effect tells the result of a command, or an event, and applies it to the screen.
type effect interface{ apply(m *root) tea.Cmd }

type tickMsg struct{}

// tick lets what moves on the screen move, as long as something does.
func (m *root) tick() tea.Cmd {
	if m.hall.on && !m.hall.line && !m.ticking && m.hall.ticks() {
		m.ticking = true
		return m.later(time.Second, tickMsg{})
	}
	if m.ticking || !m.moving() || m.hall.on && !m.hall.line {
		return nil
	}
	m.ticking = true
	return m.later(200*time.Millisecond, tickMsg{})
}

func (msg openedMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		m.fatal = msg.err
		return tea.Quit
	}
	m.workspace = msg.workspace
	m.events = newInbox(m.ctx, m.workspace.Events(m.ctx))
	m.asks = m.workspace.Questions(m.ctx)
	return tea.Batch(m.events.next(m.ctx), m.nextQuestion(), m.look(), m.lookLater(), m.findServers())
}

type foundMsg []Model

type usableMsg []Model

func (m *root) findServers() tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	return tea.Batch(func() tea.Msg { return foundMsg(workspace.Found(ctx)) }, func() tea.Msg { return usableMsg(workspace.Usable()) })
}

func (msg agentsMsg) apply(m *root) tea.Cmd {
	m.looking = false
	var cmds []tea.Cmd
	if m.again {
		cmds = append(cmds, m.look())
	}
	if msg.err != nil {
		if m.agents == nil {
			m.fatal = msg.err
			return tea.Quit
		}
		return tea.Batch(append(cmds, m.tell(bad, explain(msg.err)))...)
	}
	began := m.agents == nil
	m.agents = msg.agents
	if msg.facts != nil {
		m.hall.facts = msg.facts
	}
	for a, now := range m.fresh { // it may have been read before that was so
		m.agents.States[a] = now
	}
	for _, s := range m.screens {
		s.stopping = s.stopping && m.busy(s)
	}
	if began {
		m.arrive()
		if m.o.Home && len(m.agents.living) > 1 && m.typedAt.IsZero() && m.over == nil { // who types already goes on
			cmds = append(cmds, m.openHome())
		}
	}
	if m.hall.on {
		m.makeHome()
		cmds = append(cmds, m.previewed())
	}
	switch {
	case msg.of != m.now.agent:
		cmds = append(cmds, m.look()) // whose mode nobody has asked for yet
	case !m.choosing:
		m.now.mode = msg.mode
	}
	if msg.of == m.now.agent {
		m.now.drives = msg.drives
	}
	cmds = append(cmds, m.catchUp(m.now), m.choose(m.now), m.next(m.now))
	return tea.Batch(cmds...)
}

// arrive goes to an agent that is there, with what was typed before anybody knew who
// is.
func (m *root) arrive() {
	if _, ok := m.agent(); ok {
		return
	}
	zero, ok := m.agents.zero()
	if !ok {
		return
	}
	typed := m.now
	m.visit(zero.ID)
	delete(m.memory.Agents, typed.agent)
	delete(m.screens, typed.agent)
	if said := typed.input.text(); said != "" {
		m.now.giveBack(said)
	}
	m.now.queue = append(typed.queue, m.now.queue...)
}

func (msg pageMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	s.loading = false
	s.failed = msg.err
	if msg.err != nil {
		if fault.Is(msg.err, fault.Cancelled) {
			return nil
		}
		return m.tell(bad, explain(msg.err))
	}
	switch {
	case msg.span.After > 0:
		stale := s.stored(msg.page.Entries...)
		s.head = max(s.head, msg.page.Head)
		if stale {
			return m.reread(s)
		}
	case msg.span.Before > 0:
		s.prepend(msg.page)
		s.settle()
		return m.searchOn(s)
	default:
		s.reset(msg.page)
		s.settle()
	}
	if s == m.now && s.at == nil {
		s.trim(4 * pageSize)
	}
	if s.behind {
		return m.catchUp(s)
	}
	return nil // what is newer the next look brings
}

package tui

import (
	"context"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
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
	if said := typed.input.Text(); said != "" {
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

type agentsMsg struct {
	agents *agents
	facts  *public.HomeFacts // with them; nil: Home is not shown
	of     id.Agent
	mode   permit.Mode     // how the calls of that agent are permitted
	drives *public.Program // the program that drives it; nil: none
	err    error
}

// look reads who is there. Any number of wishes to look become one.
func (m *root) look() tea.Cmd {
	if m.workspace == nil {
		return nil
	}
	if m.looking {
		m.again = true
		return nil
	}
	m.looking, m.again = true, false
	clear(m.fresh)
	workspace, ctx, a, all := m.workspace, m.ctx, m.now.agent, m.hall.on
	return func() tea.Msg {
		var c Agents
		var facts *public.HomeFacts
		var err error
		if all {
			var f public.HomeFacts
			f, err = workspace.Overview(ctx)
			facts, c = &f, Agents{All: f.All, States: f.States}
		} else {
			c, err = workspace.Agents(ctx)
		}
		if err != nil {
			return agentsMsg{err: err}
		}
		mode, err := workspace.Mode(ctx, a)
		if err != nil {
			mode = "" // an agent that is gone; nothing is shown
		}
		all := newAgents(c)
		return agentsMsg{agents: all, facts: facts, of: a, mode: mode, drives: drives(ctx, workspace, all, a)}
	}
}

// lookLater looks at everybody again, although whatever happens is told: nothing may be
// wrong for long.
func (m *root) lookLater() tea.Cmd { return m.later(15*time.Second, lookMsg{}) }

type lookMsg struct{}

func (m *root) choose(s *screen) tea.Cmd {
	a, ok := m.agents.get(s.agent)
	if !ok || m.workspace == nil {
		return nil
	}
	if _, known := m.models[s.agent]; known {
		return nil
	}
	found, err := m.workspace.Model(a, s.model)
	m.models[s.agent] = chosen{found, err}
	return nil
}

func (events eventsMsg) apply(m *root) tea.Cmd {
	cmds := []tea.Cmd{m.events.next(m.ctx)}
	look := false
	for _, e := range events {
		cmd, changed := m.event(e)
		if e.Agent != "" {
			m.clock(m.screen(e.Agent))
		}
		cmds = append(cmds, cmd)
		look = look || changed
	}
	if look {
		cmds = append(cmds, m.look())
	}
	cmds = append(cmds, m.homeChanged())
	return tea.Batch(cmds...)
}

// event follows one. changed says that agents are not what they were.
func (m *root) event(e loop.Event) (cmd tea.Cmd, changed bool) {
	if e.Agent == "" {
		if e.Type == loop.Note {
			return m.tell(warn, e.Text), false
		}
		return nil, true
	}
	s := m.screen(e.Agent)
	s.live.take(e, m.o.Now())
	s.join()
	switch e.Type {
	case loop.Became:
		return m.became(s, e), e.State == nil
	case loop.TurnStarted:
		return nil, true
	case loop.CallStarted:
		return m.handOver(s), false
	case loop.Recorded:
		s.heard(*e.Entry)
		m.toldModel(s, *e.Entry)
		return m.recorded(s, *e.Entry), e.Entry.Kind != history.ToolResult
	case loop.TurnEnded:
		s.stopping = false
		// It may have been one that this terminal did not ask for, such as a task.
		return tea.Batch(m.news(e), m.notifyEnd(e), m.catchUpLater(s), m.next(s)), true
	case loop.Forked, loop.Killed, loop.Mailed, loop.Spent:
		return m.news(e), true
	case loop.Note:
		return m.news(e), false
	}
	return nil, false
}

// recorded takes an entry that became durable. One with large contents is read as a
// page.
func (m *root) recorded(s *screen, e history.Entry) tea.Cmd {
	if e.Kind == history.Assistant || e.Kind == history.Interrupted {
		defer s.live.said()
	}
	if !s.transcript.read {
		return nil
	}
	read, whole := decode(e)
	if !whole || s.behind || s.loading {
		s.behind = true
		if s == m.now {
			return m.catchUp(s)
		}
		return nil
	}
	if s.stored(read) {
		return m.reread(s)
	}
	return nil
}

// catchUpLater reads what a turn left, once it is over.
func (m *root) catchUpLater(s *screen) tea.Cmd {
	if s.transcript.read {
		s.behind = true
	}
	if s == m.now {
		return m.catchUp(s)
	}
	return nil
}

// news shows a notice about other agents, without moving the screen.
func (m *root) news(e loop.Event) tea.Cmd {
	who := m.agents.label(e.Agent)

	switch e.Type {
	case loop.TurnEnded:
		if e.Agent != m.now.agent {
			return m.tell(m.ended(e))
		}
	case loop.Forked:
		if m.screen(e.Agent).barrier == nil && len(e.Children) > 0 && !m.mine[e.Children[0]] { // not by the user
			return m.tell(accent, who+" forked "+text.Count(len(e.Children), "child"))
		}
	case loop.Killed:
		return m.tell(warn, who+" was killed")
	case loop.Mailed:
		return m.tell(accent, "Mail for "+who)
	case loop.Note:
		return m.tell(warn, who+": "+pointed(e.Text))
	}
	return nil
}

// became takes what an agent does from now on.
func (m *root) became(s *screen, e loop.Event) tea.Cmd {
	if e.State == nil || m.agents == nil {
		return nil
	}
	now := *e.State
	if now.Busy() { // its kernel tells what it does; what it read is known from its history
		now.Foreign = m.agents.States[e.Agent].Foreign
	}
	m.agents.States[e.Agent], m.fresh[e.Agent] = now, now
	if e.State.Busy() {
		return nil
	}
	s.stopping = false
	return m.next(s)
}

// inbox gathers events while the screen is being drawn, so that many of them cost
// one drawing.
type inbox struct {
	mu      sync.Mutex
	waiting []loop.Event // guarded by mu
	given   time.Time    // when events were last handed out; guarded by mu
	wake    chan struct{}
}

// pause is the time for which events are gathered after some were handed out: no person reads
// faster, and the processor is left to keys, which wait for nothing.
const pause = 33 * time.Millisecond

type eventsMsg []loop.Event

func newInbox(ctx context.Context, events iter.Seq[loop.Event]) *inbox {
	in := &inbox{wake: make(chan struct{}, 1)}
	go func() {
		for e := range events {
			in.mu.Lock()
			in.waiting = append(in.waiting, e)
			in.mu.Unlock()
			select {
			case in.wake <- struct{}{}:
			default:
			}
		}
	}()
	return in
}

func (in *inbox) next(ctx context.Context) tea.Cmd {
	if in == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case <-in.wake:
		case <-ctx.Done():
			return nil
		}
		in.mu.Lock()
		rest := time.Until(in.given.Add(pause))
		in.mu.Unlock()
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return nil
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		batch := in.waiting
		in.waiting, in.given = nil, time.Now()
		return eventsMsg(batch)
	}
}

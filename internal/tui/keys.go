package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/agent"
	"ramet/internal/id"
)

// keyHelp is what the keys do, for the help screen.
var keyHelp = [][2]string{
	{"Enter", "send; on an empty prompt: go on with what was interrupted"},
	{"Alt+Enter, Ctrl+J", "new line"},
	{"Esc, Ctrl+C", "stop the turn; Ctrl+C twice on an empty prompt leaves"},
	{"Ctrl+↑ ↓ ← →", "go to the parent, newest child, siblings"},
	{"Ctrl+T", "tree of agents"},
	{"Ctrl+G", "go to an agent by a few letters"},
	{"Ctrl+P", "go to the agent that asks for permission"},
	{"Ctrl+L", "lineage: forks, marks; fork or rewind from there"},
	{"Ctrl+O", "open or close all calls and thoughts"},
	{"Alt+↑ ↓", "pick a block; Enter opens it, c copies it"},
	{"Ctrl+F", "search in the conversation"},
	{"PgUp, PgDn, wheel", "scroll; Ctrl+Home, Ctrl+End: to the ends"},
	{"Alt+C", "copy the last answer"},
	{"↑ ↓", "at the edge of the prompt: former prompts"},
	{"Tab", "complete /commands, @files"},
	{"!command", "run a command yourself; the model does not see it"},
	{"F1", "this help"},
}

// key follows a key.
func (m *root) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.interrupt()
	}
	if m.over != nil {
		return m.over.key(m, k)
	}
	if q := m.question(); q != nil && (m.asking(q) || name == "tab") {
		if cmd, ok := q.key(m, k); ok {
			return cmd
		}
	}
	if cmd, ok := m.global(name); ok {
		return cmd
	}
	if m.search.on {
		return m.search.key(m, k)
	}
	if cmd, ok := m.pickedKey(name); ok {
		return cmd
	}
	if cmd, ok := m.offer.key(m, name); ok {
		return cmd
	}
	return m.typed(k)
}

// global are the keys that work wherever nothing is in front.
func (m *root) global(name string) (tea.Cmd, bool) {
	page := max(1, m.now.height-2)
	switch name {
	case "ctrl+up":
		return m.walk(m.crowd.up(m.now.agent))
	case "ctrl+down":
		return m.walk(m.crowd.down(m.now.agent))
	case "ctrl+left":
		return m.walk(m.crowd.beside(m.now.agent, -1))
	case "ctrl+right":
		return m.walk(m.crowd.beside(m.now.agent, 1))
	case "ctrl+t":
		m.memory.Tree = !m.memory.Tree
		m.dirty = true
		return nil, true
	case "ctrl+g":
		return m.openJump(), true
	case "ctrl+p":
		return m.toQuestion(), true
	case "ctrl+l":
		return m.openTimeline(), true
	case "ctrl+o":
		m.now.all = !m.now.all
		m.now.folds = map[string]bool{}
		m.dirty = true
		return nil, true
	case "ctrl+f":
		m.search = search{on: true}
		return nil, true
	case "f1":
		return m.openHelp(""), true
	case "alt+c":
		return m.copyText(m.now.lastSpeech()), true
	case "pgup":
		return m.scroll(-page), true
	case "pgdown":
		return m.scroll(page), true
	case "shift+up":
		return m.scroll(-1), true
	case "shift+down":
		return m.scroll(1), true
	case "ctrl+home":
		if len(m.now.blocks) > 0 {
			b := m.now.blocks[0]
			m.now.at = &place{b.Entry, b.Part, 0}
			m.dirty = true
		}
		return m.older(m.now), true
	case "ctrl+end":
		m.now.at, m.dirty = nil, true
		return nil, true
	case "alt+up", "alt+down":
		n := -1
		if name == "alt+down" {
			n = 1
		}
		m.now.choose(n)
		m.dirty = true
		return nil, true
	case "esc":
		return m.escape(), true
	}
	return nil, false
}

// walk goes to another agent; where there is none, nothing happens.
func (m *root) walk(to id.Agent, ok bool) (tea.Cmd, bool) {
	if !ok {
		return nil, true
	}
	return m.goTo(to), true
}

// goTo shows an agent.
func (m *root) goTo(a id.Agent) tea.Cmd {
	if a == m.now.agent {
		return nil
	}
	m.search = search{}
	m.visit(a)
	return tea.Batch(m.catchUp(m.now), m.choose(m.now))
}

// escape leaves what is nearest: a list, a choice, a search, then the turn.
func (m *root) escape() tea.Cmd {
	switch {
	case m.offer.shown():
		m.offer.close()
	case m.search.on:
		m.search = search{}
	case m.now.chosen != nil:
		m.now.chosen = nil
	case m.now.stoppable():
		return m.halt()
	}
	return nil
}

// twice is how soon the second Ctrl-C must follow.
const twice = 3 * time.Second

// interrupt is Ctrl-C: it stops what is under way, else clears the prompt, else
// leaves.
func (m *root) interrupt() tea.Cmd {
	switch {
	case m.over != nil:
		m.over = nil
		return nil
	case m.now.stoppable() && !m.now.live.stopping:
		return m.halt()
	case m.now.input.text() != "":
		m.memory.remember(m.now.input.text())
		m.now.input.set("", 0)
		m.edited()
		return nil
	}
	if now := m.o.Now(); now.Sub(m.ctrlC) < twice {
		return m.leave(false)
	}
	m.ctrlC = m.o.Now()
	return m.tell(accent, "Ctrl+C again leaves")
}

// leave ends the program; where agents work it asks first.
func (m *root) leave(sure bool) tea.Cmd {
	n := 0
	for _, s := range m.screens {
		if s.working() {
			n++
		}
	}
	if n > 0 && !sure {
		m.over = confirm{text: count(n, "agent") + " at work will be stopped, and can go on later. Leave?", yes: func() tea.Cmd { return tea.Quit }}
		return nil
	}
	return tea.Quit
}

// pickedKey are the keys of a block that is picked.
func (m *root) pickedKey(name string) (tea.Cmd, bool) {
	b := m.now.picked()
	if b == nil {
		return nil, false
	}
	switch name {
	case "enter", "space", " ":
		m.now.fold(b)
		m.dirty = true
		return nil, true
	case "c", "y":
		return m.copyText(b.body), true
	case "up", "down":
		n := -1
		if name == "down" {
			n = 1
		}
		m.now.choose(n)
		return nil, true
	}
	m.now.chosen = nil
	return nil, false
}

// copyText puts a text into the clipboard of the terminal.
func (m *root) copyText(s string) tea.Cmd {
	if s == "" {
		return m.tell(faint, "there is nothing to copy")
	}
	return tea.Batch(tea.SetClipboard(s), m.tell(good, "copied "+count(strings.Count(s, "\n")+1, "line")))
}

func (m *root) scroll(n int) tea.Cmd {
	older := m.now.scroll(n)
	m.dirty = true
	if older {
		return m.older(m.now)
	}
	return nil
}

func (m *root) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	n := 3
	if msg.Button == tea.MouseWheelUp {
		n = -3
	} else if msg.Button != tea.MouseWheelDown {
		return nil
	}
	if s, ok := m.over.(interface{ scroll(int) }); ok {
		s.scroll(n)
		return nil
	}
	return m.scroll(n)
}

// click opens or closes the block that was clicked at.
func (m *root) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.over == nil && msg.Button == tea.MouseLeft && msg.Y >= 0 && msg.Y < len(m.hits) {
		m.now.fold(m.hits[msg.Y])
		m.dirty = true
	}
	return nil
}

// typed gives a key to the prompt.
func (m *root) typed(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter":
		return m.submit()
	case "ctrl+d":
		if m.now.input.text() == "" {
			return m.leave(false)
		}
	case "up", "down":
		if m.past.key(m, name) {
			return nil
		}
	case "?":
		if m.now.input.text() == "" {
			return m.openHelp("")
		}
	}
	if m.now.input.key(k) {
		return m.edited()
	}
	return nil
}

func (m *root) paste(s string) tea.Cmd {
	if p, ok := m.over.(interface{ paste(string) }); ok {
		p.paste(s)
		return nil
	}
	if m.over != nil {
		return nil
	}
	m.now.input.paste(s)
	return m.edited()
}

// edited follows a change of the prompt.
func (m *root) edited() tea.Cmd {
	m.dirty = true
	m.past.at = len(m.memory.Said)
	return m.offer.update(m)
}

// past are the former prompts, as one walks through them.
type past struct {
	at    int
	draft string // what stood there before
}

// key recalls a former prompt where the cursor stands at the edge.
func (p *past) key(m *root, name string) bool {
	in := &m.now.input
	said := m.memory.Said
	switch {
	case name == "up" && in.atTop() && p.at > 0 && p.at <= len(said):
		if p.at == len(said) {
			p.draft = in.text()
		}
		p.at--
	case name == "down" && in.atBottom() && p.at < len(said):
		p.at++
	default:
		return false
	}
	recalled := p.draft
	if p.at < len(said) {
		recalled = said[p.at]
	}
	in.set(recalled, len(recalled))
	m.dirty = true
	return true
}

// writable says whether the current agent can be spoken to, or why not.
func (m *root) writable() (agent.Agent, error) {
	a, ok := m.agent()
	if !ok {
		return a, nil
	}
	return a, agent.NeedLiving(a)
}

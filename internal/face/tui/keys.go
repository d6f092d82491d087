package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/text"
	"ramet/internal/operation/session"
)

// key follows a key, and remembers when something was typed.
func (m *root) key(k tea.KeyPressMsg) tea.Cmd {
	before, list := m.now.input.text(), m.hall.on && !m.hall.line
	cmd := m.pressed(k)
	if stepped := list && m.hall.line; !stepped && k.Text != "" || m.now.input.text() != before {
		m.typing()
	}
	return cmd
}

func (m *root) pressed(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.interrupt()
	}
	if m.over != nil {
		return m.over.key(m, k)
	}
	if m.hall.on {
		return m.homeKey(k)
	}
	q := m.asking()
	if name == "left" && m.now.input.text() == "" && !m.search.on && m.now.picked() == nil && (q == nil || q.Stage == Choosing && q.At == 0) {
		return m.openHome()
	}
	if q != nil {
		if cmd, taken := q.press(m, k); taken {
			return cmd
		}
	}
	if cmd, ok := m.global(name); ok {
		return cmd
	}
	if m.search.on {
		return m.search.key(m, k)
	}
	if q != nil {
		m.now.chosen = nil // what is typed while somebody asks is for the prompt
	} else if cmd, ok := m.pickedKey(name); ok {
		return cmd
	}
	if cmd, ok := m.offer.key(m, name); ok {
		return cmd
	}
	return m.typed(k)
}

func (m *root) global(name string) (tea.Cmd, bool) {
	page := max(1, m.now.height-2)
	switch name {
	case "ctrl+up":
		return m.walk(m.agents.up(m.now.agent))
	case "ctrl+down":
		return m.walk(m.agents.down(m.now.agent))
	case "ctrl+left":
		return m.walk(m.agents.beside(m.now.agent, -1))
	case "ctrl+right":
		return m.walk(m.agents.beside(m.now.agent, 1))
	case "ctrl+v":
		return m.pasteImage(), true
	case "ctrl+t":
		m.memory.Tree = !m.memory.Tree
		m.dirty = true
		return nil, true
	case "ctrl+g":
		return m.openJump(false), true
	case "ctrl+r":
		return m.openPast(), true
	case "alt+r":
		return m.goOnAll(), true
	case "ctrl+x":
		return m.openEditor(), true
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
	case trustKey:
		return m.openTrust(), true
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
			m.now.at = &position{b.Entry, b.Part, 0}
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
	case "shift+tab":
		return m.nextMode(), true
	case "esc":
		return m.escape(), true
	}
	return nil, false
}

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

func (m *root) copyText(s string) tea.Cmd {
	if s == "" {
		return m.tell(faint, "Nothing to copy.")
	}
	return tea.Batch(m.send(ansi.SetSystemClipboard(s)), m.tell(good, "Copied "+text.Count(strings.Count(s, "\n")+1, "line")))
}

func (m *root) typed(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter":
		return m.submit()
	case "ctrl+d":
		if m.now.input.text() == "" {
			return tea.Quit
		}
	case "up", "down":
		if m.past.key(m, name) {
			return nil
		}
	case "?":
		if m.now.input.text() == "" && m.asking() == nil {
			return m.openHelp("")
		}
	}
	before := m.now.input.text()
	if !m.now.input.key(k.String(), k.Text) {
		return nil
	}
	if m.now.input.text() != before {
		return m.edited()
	}
	m.dirty = true // the cursor moved
	return m.offer.update(m)
}

func (m *root) paste(s string) tea.Cmd {
	if p, ok := m.over.(interface{ paste(string) }); ok {
		p.paste(s)
		return nil
	}
	if m.over != nil || m.hall.on && !m.hall.line {
		return nil
	}
	if q := m.asking(); q != nil && q.Paste(s, m.o.Now()) {
		return nil
	}
	m.now.input.paste(session.ReplacePasted(s))
	m.typing()
	return m.edited()
}

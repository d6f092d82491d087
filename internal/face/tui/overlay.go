package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// sheet is a text that is read.
type sheet struct {
	title string
	lines []string // harmless
	at    int
	high  int
}

func (s *sheet) scroll(n int) { s.at = max(0, min(s.at+n, len(s.lines)-s.high)) }

func (s *sheet) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "enter", "f1":
		m.over = nil
	case "up", "k":
		s.scroll(-1)
	case "down", "j":
		s.scroll(1)
	case "pgup":
		s.scroll(-s.high)
	case "pgdown", "space":
		s.scroll(s.high)
	}
	return nil
}

func (s *sheet) view(m *root, w, h int) []string {
	s.high = max(1, h-2)
	s.scroll(0)
	out := []string{headline(s.title, w)}
	for _, l := range s.lines[s.at:min(len(s.lines), s.at+s.high)] {
		out = append(out, cut(l, w))
	}
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out, faint.of(cut("↑↓ PgUp PgDn scroll · Esc close", w)))
}

// headline is the title of what is in front.
func headline(title string, w int) string {
	return accented.of(fit("▌ "+title, w))
}

// choice is one line of a picker.
type choice struct {
	text  string // harmless; what the letters are held against
	extra string // beside it
	value int
}

// picker is a list to choose from by a few letters.
type picker struct {
	title   string
	choices []choice
	words   []string
	typed   string
	found   []FuzzyMatch
	at      int
	pick    func(m *root, value int) tea.Cmd
	more    func(m *root) tea.Cmd // what Ctrl+G does; nil: nothing
}

func newPicker(title string, choices []choice, at int, pick func(*root, int) tea.Cmd) *picker {
	p := &picker{title: title, choices: choices, pick: pick}
	for _, c := range choices {
		p.words = append(p.words, strings.TrimLeft(c.text, " │├└─"))
	}
	p.filter()
	p.at = at
	return p
}

func (p *picker) filter() { p.found, p.at = FindFuzzy(p.typed, p.words), 0 }

func (p *picker) scroll(n int) { p.at = max(0, min(p.at+n, len(p.found)-1)) }

func (p *picker) paste(s string) { p.typed += line(s, 80); p.filter() }

func (p *picker) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "esc":
		m.over = nil
	case "enter":
		m.over = nil
		if p.at < len(p.found) {
			return p.pick(m, p.choices[p.found[p.at].Index].value)
		}
	case "ctrl+g":
		if p.more != nil {
			return p.more(m)
		}
	case "up", "ctrl+p":
		p.scroll(-1)
	case "down", "ctrl+n", "tab":
		p.scroll(1)
	case "pgup":
		p.scroll(-10)
	case "pgdown":
		p.scroll(10)
	case "backspace":
		if r := []rune(p.typed); len(r) > 0 {
			p.typed = string(r[:len(r)-1])
			p.filter()
		}
	default:
		if k.Text != "" {
			p.typed += clean(k.Text)
			p.filter()
		}
	}
	return nil
}

func (p *picker) view(m *root, w, h int) []string {
	out := []string{headline(p.title+"  "+p.typed+"▏", w)}
	room := max(1, h-2)
	from := max(0, min(p.at-room/2, len(p.found)-room))
	for i := from; i < len(p.found) && i < from+room; i++ {
		c := p.choices[p.found[i].Index]
		text := c.text
		if p.typed != "" {
			text = p.words[p.found[i].Index]
		}
		l := spread(" "+text, c.extra, w)
		if i == p.at {
			l = reverse.of(fit(strip(l), w))
		}
		out = append(out, l)
	}
	if len(p.found) == 0 {
		out = append(out, faint.of(" no match"))
	}
	for len(out) < h-1 {
		out = append(out, "")
	}
	return append(out, faint.of(cut("type to search · ↑↓ select · Enter open · Esc close", w)))
}

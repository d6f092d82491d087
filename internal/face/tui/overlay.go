package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

type sheet struct {
	title string
	lines []string // harmless
	at    int
	high  int
}

func (s *sheet) scroll(n int) { s.at = max(0, min(s.at+n, len(s.lines)-s.high)) }

func (s *sheet) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "esc", "q", "enter", "f1":
		m.over = nil
	case "space":
		s.scroll(s.high)
	default:
		s.scroll(stepOf(name, s.high))
	}
	return nil
}

// farthest is more lines than any list has.
const farthest = 1 << 40

// stepOf returns by how many lines a key moves in a list whose page has so many; 0 if it moves nothing.
func stepOf(name string, page int) int {
	switch name {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup":
		return -page
	case "pgdown":
		return page
	case "home":
		return -farthest
	case "end":
		return farthest
	}
	return 0
}

func framed(title string, lines []string, keys string, w, h int) []string {
	out := append([]string{headline(title, w)}, fill(lines, max(0, h-2))...)
	return append(out, faint.of(cut(keys, w)))
}

func (s *sheet) view(m *root, w, h int) []string {
	s.high = max(1, h-2)
	s.scroll(0)
	var out []string
	for _, l := range s.lines[s.at:min(len(s.lines), s.at+s.high)] {
		out = append(out, cut(l, w))
	}
	return framed(s.title, out, "↑↓ PgUp PgDn scroll · Esc close", w, h)
}

func headline(title string, w int) string {
	return accented.of(fit("▌ "+title, w))
}

type choice struct {
	text  string // harmless; what the letters are held against
	extra string // beside it
	value int
}

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
	case "up", "down", "pgup", "pgdown":
		p.scroll(stepOf(name, 10))
	case "ctrl+p":
		p.scroll(-1)
	case "ctrl+n", "tab":
		p.scroll(1)
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
	var out []string
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
		out = append(out, faint.of(" No match"))
	}
	return framed(p.title+"  "+p.typed+"▏", out, "type to search · ↑↓ select · Enter open · Esc close", w, h)
}

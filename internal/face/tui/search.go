package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func (f *search) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter", "up":
		return f.up(m)
	case "down":
		f.down(m)
	case "backspace":
		if r := []rune(f.typed); len(r) > 0 {
			f.typed = string(r[:len(r)-1])
			f.from, f.none, f.of = nil, false, 0
		}
	default:
		if k.Text != "" {
			f.typed += k.Text
			f.from, f.none, f.of = nil, false, 0
			return f.up(m)
		}
	}
	return nil
}

// fits says whether a block holds the text: in what is shown of it, or would be.
func (f *search) fits(b *block) bool {
	decided := ""
	if b.permission != nil {
		decided = sayPermission(*b.permission)
	}
	want := strings.ToLower(f.typed)
	return slices.ContainsFunc([]string{b.body, b.about, decided}, func(said string) bool { return strings.Contains(strings.ToLower(said), want) })
}

func (f *search) up(m *root) tea.Cmd {
	if f.typed == "" {
		return nil
	}
	blocks := m.now.blocks
	for i := len(blocks) - 1; i >= 0; i-- {
		if f.from != nil && !blocks[i].key.before(*f.from) {
			continue
		}
		if f.fits(blocks[i]) {
			f.found(m, blocks[i])
			return nil
		}
	}
	if m.now.more {
		f.looking = true
		return m.older(m.now)
	}
	f.none = true
	return nil
}

func (f *search) down(m *root) {
	if f.from == nil || f.typed == "" {
		return
	}
	for _, b := range m.now.blocks {
		if f.from.before(b.key) && f.fits(b) {
			f.found(m, b)
			return
		}
	}
}

func (f *search) found(m *root, b *block) {
	k := b.key
	f.from, f.none = &k, false
	f.at, f.of = 0, 0
	for _, other := range m.now.blocks {
		if f.fits(other) {
			f.of++
			if !other.key.before(k) {
				f.at++
			}
		}
	}
	m.now.chosen = &k
	at := f.line(m.now.lay(b))
	if b.foldable() && (at < 0 || b.form != saying) {
		m.now.folds[k.String()] = true // what was looked for may stand in the folded part
		at = f.line(m.now.lay(b))
	}
	if at < m.now.height*2/3-1 || m.now.height == 0 { // it is on the screen with the head of its block, or nothing is yet
		at = 0
	}
	m.now.show(b, at)
	m.dirty = true
}

// line is the first of lines that holds the text; -1: none does, as where it is broken in two.
func (f *search) line(lines []string) int {
	want := strings.ToLower(f.typed)
	return slices.IndexFunc(lines, func(l string) bool { return strings.Contains(strings.ToLower(strip(l)), want) })
}

func (m *root) searchOn(s *screen) tea.Cmd {
	if s != m.now || !m.search.looking {
		return nil
	}
	m.search.looking = false
	return m.search.up(m)
}

func (f *search) view(w int) string {
	state := "Enter previous · ↓ next · Esc close"
	if f.of > 0 {
		state = fmt.Sprintf("%d of %d · ", f.at, f.of) + state
	}
	switch {
	case f.none:
		state = bad.of("No match")
	case f.looking:
		state = "Reading older messages…"
	}
	return spread(accented.of("find: ")+cut(clean(f.typed), w/2)+"▏", faint.of(state), w)
}

// mark reverses the text that is searched for in lines that are shown. The rest of a line keeps its colors and its ground.
func (f *search) mark(lines []string) {
	if !f.on || f.typed == "" {
		return
	}
	want := strings.ToLower(f.typed)
	for i, l := range lines {
		bare := strip(l)
		low := strings.ToLower(bare)
		if len(low) != len(bare) { // letters that change their size are not marked
			continue
		}
		out, done := "", 0
		for at := strings.Index(low, want); at >= 0; at = strings.Index(low[done:], want) {
			from, to := done+at, done+at+len(want)
			out += ansi.Cut(l, width(bare[:done]), width(bare[:from])) + "\x1b[m" + reverse.of(bare[from:to])
			done = to
		}
		if done > 0 {
			lines[i] = out + ansi.TruncateLeft(l, width(bare[:done]), "")
		}
	}
}

package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// search looks for a text in the whole conversation, from the end backwards. What
// was not read yet is read on the way.
type search struct {
	on      bool
	typed   string
	from    *key // the last place that fits
	looking bool // an older page is on its way
	none    bool
}

func (f *search) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter", "up":
		return f.up(m)
	case "down":
		f.down(m)
	case "backspace":
		if r := []rune(f.typed); len(r) > 0 {
			f.typed = string(r[:len(r)-1])
			f.from, f.none = nil, false
		}
	default:
		if k.Text != "" {
			f.typed += k.Text
			f.from, f.none = nil, false
			return f.up(m)
		}
	}
	return nil
}

// fits says whether a block holds the text.
func (f *search) fits(b *block) bool {
	want := strings.ToLower(f.typed)
	return strings.Contains(strings.ToLower(b.body), want) || strings.Contains(strings.ToLower(b.about), want)
}

// up goes to the next fit above.
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

// down goes to the next fit below.
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
	m.now.chosen = &k
	if b.foldable() && b.form != saying {
		m.now.folds[k.String()] = true // what was looked for may stand in the folded part
	}
	m.now.show(b)
	m.dirty = true
}

// searchOn goes on after an older page has come.
func (m *root) searchOn(s *screen) tea.Cmd {
	if s != m.now || !m.search.looking {
		return nil
	}
	m.search.looking = false
	return m.search.up(m)
}

func (f *search) view(w int) string {
	state := "Enter next above · ↓ below · Esc ends"
	switch {
	case f.none:
		state = bad.of("nothing found")
	case f.looking:
		state = "reading older messages…"
	}
	return spread(accented.of("find: ")+cut(clean(f.typed), w/2)+"▏", faint.of(state), w)
}

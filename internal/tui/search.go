package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
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
	if f.of > 0 {
		state = fmt.Sprintf("%d of %d · ", f.at, f.of) + state
	}
	switch {
	case f.none:
		state = bad.of("nothing found")
	case f.looking:
		state = "reading older messages…"
	}
	return spread(accented.of("find: ")+cut(clean(f.typed), w/2)+"▏", faint.of(state), w)
}

// mark marks the words that are looked for in lines that are shown.
func (f *search) mark(lines []string) {
	if !f.on || f.typed == "" {
		return
	}
	want := strings.ToLower(f.typed)
	for i, l := range lines {
		bare := strip(l)
		low := strings.ToLower(bare)
		if len(low) != len(bare) || !strings.Contains(low, want) { // letters that change their size are not marked
			continue
		}
		var out strings.Builder
		for at := strings.Index(low, want); at >= 0; at = strings.Index(low, want) {
			out.WriteString(bare[:at] + reverse.of(bare[at:at+len(want)]))
			bare, low = bare[at+len(want):], low[at+len(want):]
		}
		lines[i] = out.String() + bare
	}
}

package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
)

func keyOwners() []catalog.Vendor {
	var out []catalog.Vendor
	for _, v := range catalog.Vendors() {
		if v.KeyOwner() == v.Name && !v.BuiltIn && v.KeyVariable() != "" {
			out = append(out, v)
		}
	}
	return out
}

// openKey asks for the key of a vendor; without a name, for which one first.
func (m *root) openKey(name string) tea.Cmd {
	all := keyOwners()
	var names []string
	var choices []choice
	for i, v := range all {
		if strings.EqualFold(v.Name, name) {
			m.over = &keyEntry{vendor: v}
			return nil
		}
		names = append(names, v.Name)
		choices = append(choices, choice{line(v.Name, 30) + "  " + line(v.Title, 40), v.KeyVariable(), i})
	}
	if name == "" {
		m.over = newPicker("add a key for", choices, 0, func(m *root, i int) tea.Cmd {
			m.over = &keyEntry{vendor: all[i]}
			return nil
		})
		return nil
	}
	return m.tell(bad, line(name, 40)+" is not a vendor with a key: "+text.NearestHint(strings.ToLower(name), names, "/key lists them"))
}

// keyEntry takes a key and shows only how long it is. It is never part of the screen's memory.
type keyEntry struct {
	vendor catalog.Vendor
	typed  string
	trying bool
}

type keyMsg struct {
	of   *keyEntry
	said string
	err  error
}

func (e *keyEntry) paste(s string) { e.typed += strings.TrimSpace(s) }

func (e *keyEntry) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "esc":
		m.over = nil
	case e.trying:
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(e.typed)
		e.typed = e.typed[:len(e.typed)-n]
	case name == "enter" && e.typed != "":
		e.trying = true
		workspace, ctx, key := m.workspace, m.ctx, e.typed
		return func() tea.Msg {
			said, err := workspace.Key(ctx, e.vendor.Name, key)
			return keyMsg{e, said, err}
		}
	case k.Text != "":
		e.typed += k.Text
	}
	return nil
}

func (e *keyEntry) view(m *root, w, h int) []string {
	out := []string{"", cut(" "+strings.Repeat("•", min(utf8.RuneCountInString(e.typed), max(0, w-4)))+"▏", w), ""}
	about := "Type or paste it; it isn't shown. It is checked with the vendor and saved in ramet's home, where only you can read it. No agent sees it."
	if e.trying {
		about = "Checking the key with " + line(e.vendor.Title, 40) + "…"
	}
	for _, l := range wrap(about, max(1, w-2)) {
		out = append(out, faint.of(" "+l))
	}
	return framed("API key for "+line(e.vendor.Title, 40), out, "Enter check and save · Esc cancel", w, h)
}

// apply follows what became of a key. One that is refused can be mended where it stands.
func (msg keyMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		msg.of.trying, msg.of.typed = false, ""
		return m.tell(bad, explain(msg.err))
	}
	if m.over == overlay(msg.of) {
		m.over = nil
	}
	clear(m.models) // there may be a better one now
	return tea.Batch(m.choose(m.now), m.findServers(), m.tell(good, line(msg.said, 200)))
}

package tui

import (
	"bytes"
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

type still struct{ told func() }

func (s still) Init() tea.Cmd                       { return nil }
func (s still) Update(tea.Msg) (tea.Model, tea.Cmd) { s.told(); return s, tea.Quit }
func (s still) View() tea.View                      { return tea.NewView("still") }

// The ticker of the library is where we look for it: after an upgrade this tells.
func TestTheRendererCanRest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var p *tea.Program
	var r rest
	p = tea.NewProgram(still{func() { r.wake(p, nil) }}, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(&bytes.Buffer{}), tea.WithoutSignalHandler(), tea.WithWindowSize(80, 24))
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if r.ticker == nil {
		t.Fatal("the renderer's ticker is not found: an idle terminal wakes 120 times a second")
	}
	for _, step := range []struct {
		name string
		do   func()
		want time.Duration
	}{
		{"nothing happens", r.slower, 0},
		{"a message", func() { r.wake(p, nil) }, frame},
		{"a key", func() { r.wake(p, tea.KeyPressMsg{}) }, soon},
		{"a message just after a key", func() { r.wake(p, nil) }, soon},
		{"the haste is over", r.slower, frame},
		{"nothing happens again", r.slower, 0},
		{"what took long is drawn", r.drawn, frame},
	} {
		r.timer.Stop() // time is the test's own
		if step.do(); r.pace != step.want {
			t.Errorf("%s: it ticks every %v, not %v", step.name, r.pace, step.want)
		}
	}
	r.timer.Stop()
}

// What is counted quickly is what the library counts.
func TestNarrowTextsAreCountedAsTheLibraryDoes(t *testing.T) {
	for _, s := range []string{"", "plain", bold.of("bold") + " x", "├─┤ ▌ ░▒▓ ❯ a · b › c … −7 “so”", "日本", "a\u0301", "─\u0301", "❯\ufe0f", "\x1b[31", "\x1b]0;t\a x", "\x1b[2Kx", "é", "👩‍👩‍👧", "\xff"} {
		if got, want := width(s), ansi.StringWidth(s); got != want {
			t.Errorf("%q has %d cells, not %d", s, want, got)
		}
	}
	for r := '─'; r <= '▟'; r++ {
		if n := ansi.StringWidth(string(r)); n != 1 {
			t.Errorf("%c has %d cells", r, n)
		}
	}
}

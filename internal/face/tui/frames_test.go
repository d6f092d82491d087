package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

type still struct{ drawn func(drawing) }

func (s still) Init() tea.Cmd { return nil }
func (s still) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if msg == "leave" {
		return s, tea.Quit
	}
	return s, nil
}

func (s still) View() tea.View {
	s.drawn(drawing{[]string{"still"}, 80, 0, -1})
	v := tea.NewView(blank)
	v.AltScreen = true
	return v
}

// What was drawn is written although no ticker ticks, and the ticker of the library is where we look
// for it: after an upgrade this tells.
func TestWhatWasDrawnIsWritten(t *testing.T) {
	written := make(chan string, 1)
	o := Options{Env: []string{"TERM=xterm"}, Out: writes(func(b []byte) {
		if strings.Contains(string(b), "still") {
			nudge(written, string(b))
		}
	})}
	f := newFrames(o)
	p := f.program(t.Context(), o, still{f.drawn})
	if !f.taken {
		t.Fatal("the renderer's ticker is not found: an idle terminal wakes 120 times a second")
	}
	go func() {
		select {
		case <-written:
		case <-time.After(2 * time.Minute):
			t.Error("nothing was written")
		}
		p.Send("leave")
	}()
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
}

type writes func([]byte)

func (w writes) Write(b []byte) (int, error) { w(b); return len(b), nil }

// A key waits for nothing, other things for the next frame, and where nothing is drawn nothing is written.
func TestKeysGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		f := newFrames(Options{Out: writes(func([]byte) { at = append(at, time.Since(began)) })})
		f.canvas.open = true
		go f.run(ctx, func(tea.Msg) {})
		n := 0
		draw := func(msg tea.Msg) {
			n++
			f.filter(msg)
			f.drawn(drawing{[]string{fmt.Sprint(n)}, 80, 0, -1})
			synctest.Wait()
		}
		draw(nil)                        // at once: nothing was written before
		draw(nil)                        // waits for its frame
		time.Sleep(time.Millisecond)     // and meanwhile
		draw(tea.KeyPressMsg{Code: 'a'}) // takes it along
		draw(tea.KeyPressMsg{Code: 'b'}) // comes too soon for a hand
		time.Sleep(time.Hour)
		draw(tea.KeyPressMsg{Code: 'c'})
		cancel()
		synctest.Wait()
		want := []time.Duration{0, time.Millisecond, time.Millisecond + burst, time.Hour + time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("it was written at %v, not %v", at, want)
		}
	})
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

package tui

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"ramet/internal/testkit"
)

// onPaper is a canvas that writes to a terminal, which is empty.
func onPaper(w, h int) (*canvas, *vt.Emulator) {
	screen := vt.NewEmulator(w, h)
	c := newCanvas(writes(func(b []byte) { screen.Write(b) }), []string{"TERM=xterm-256color", "CLICOLOR_FORCE=1"})
	c.open = true
	return &c, screen
}

// Whatever came before, what stands on a terminal is what was drawn last, in every cell.
func TestWhatIsWrittenIsWhatWasDrawn(t *testing.T) {
	const w, h = 24, 9
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"", "one", bold.of("two"), "├─ three", "日本語", "a\u0301b", strings.Repeat("x", w), faint.of(strings.Repeat("─", w)), "\x1b[48;5;236m" + strings.Repeat(" ", w) + "\x1b[m", "👩‍👩‍👧 family", "(ok)"}
	line := func() string { return words[random.IntN(len(words))] + fmt.Sprint(random.IntN(3)) }
	c, screen := onPaper(w, h)
	lines := make([]string, h)
	for i := range 250 {
		lines = slices.Clone(lines)
		switch random.IntN(4) {
		case 0: // it grows at its end, above two lines that stay
			n := 1 + random.IntN(3)
			copy(lines, lines[n:h-2])
			for y := h - 2 - n; y < h-2; y++ {
				lines[y] = line()
			}
		case 1: // somebody reads further above
			copy(lines[1:h-2], lines)
			lines[0] = line()
		case 2:
			lines[random.IntN(h)] = line()
		case 3:
			for y := range lines {
				lines[y] = line()
			}
		}
		for y := range lines {
			lines[y] = cut(lines[y], w)
		}
		d := drawing{lines, w, random.IntN(w), random.IntN(h)}
		if i%50 == 49 {
			screen.Write([]byte("\x1b[2J\x1b[Hsomebody else"))
			c.forget() // and all of it is written again
		}
		c.show(d)
		fresh, want := onPaper(w, h)
		fresh.show(d)
		if got, want := screen.Render(), want.Render(); got != want {
			t.Fatalf("step %d shows\n%s\nnot\n%s", i, got, want)
		}
		if at := screen.CursorPosition(); at.X != d.x || at.Y != d.y {
			t.Fatalf("step %d: the cursor stands at %v, not at %d %d", i, at, d.x, d.y)
		}
	}
}

// A line that changes is written alone; what is drawn again is not written.
func TestWhatStandsThereIsNotWritten(t *testing.T) {
	written := 0
	c := newCanvas(writes(func(b []byte) { written += len(b) }), nil)
	c.open = true
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprint("line ", i, " of a conversation that is read"))
	}
	c.show(drawing{lines, 80, 0, 39})
	written = 0
	c.show(drawing{slices.Clone(lines), 80, 0, 39})
	if written > 0 {
		t.Errorf("the same again took %d bytes", written)
	}
	changed := slices.Clone(lines)
	changed[38] = "another line"
	if c.show(drawing{changed, 80, 0, 39}); written > 120 {
		t.Errorf("one line took %d bytes", written)
	}
}

// While another program has the terminal, or before it is ours, nothing is drawn into it. It is given back as it was.
func TestOthersScreensAreLeftAlone(t *testing.T) {
	var got strings.Builder
	term := newTerminal(Options{Out: writes(func(b []byte) { got.Write(b) })}, "title")
	d := drawing{[]string{"ours"}, 80, 0, -1}
	shows := func(want bool) {
		t.Helper()
		got.Reset()
		term.show(d)
		if strings.Contains(got.String(), "ours") != want {
			t.Errorf("it is written: %v", !want)
		}
	}
	shows(false)
	for range 2 {
		testkit.OK(t, term.enter())
		shows(true)
		shows(false) // it is there
		testkit.OK(t, (alone{exec.Command("true"), term}).Run())
		shows(true)
		term.leave()
		term.leave()
		shows(false)
	}
}

// What a program draws is written, and a panic, in a command too, leaves the terminal before it is reported.
func TestAProgramIsShown(t *testing.T) {
	var got strings.Builder
	o := Options{Env: []string{"TERM=xterm"}, Out: writes(func(b []byte) { got.Write(b) })}
	testkit.OK(t, newTerminal(o, "title").run(t.Context(), still{}))
	if !strings.Contains(got.String(), "still") {
		t.Errorf("written: %q", got.String())
	}
	term := newTerminal(o, "title")
	testkit.OK(t, term.enter())
	defer func() {
		if r := recover(); r != "broken" || term.open {
			t.Errorf("it panicked with %v; the terminal is ours: %v", r, term.open)
		}
	}()
	term.guard(func() tea.Msg { return tea.BatchMsg{func() tea.Msg { panic("broken") }} })().(tea.BatchMsg)[0]()
}

type still struct{}

func (still) Init() tea.Cmd          { return tea.Quit }
func (still) Update(tea.Msg) tea.Cmd { return nil }
func (still) draw() drawing          { return drawing{[]string{"still"}, 80, 0, -1} }

type writes func([]byte)

func (w writes) Write(b []byte) (int, error) { w(b); return len(b), nil }

// Nothing but words and styles reaches the terminal, and without colours none.
func TestLinesAreHarmless(t *testing.T) {
	for said, want := range map[string]string{
		"plain":                        "plain",
		bold.of("b") + " ü 日":          bold.of("b") + " ü 日",
		"a\x1b[2Jb\x1b]0;title\ac\rd":  "a[2Jb]0;titlecd",
		"\u009b31mx\x7f\x1b[?25lz\x1b": "31mx[?25lz",
	} {
		if got := harmless(said); got != want {
			t.Errorf("%q became %q, not %q", said, got, want)
		}
	}
	var got strings.Builder
	c := newCanvas(writes(func(b []byte) { got.Write(b) }), []string{"TERM=xterm", "NO_COLOR=1"})
	c.open = true
	c.show(drawing{[]string{bad.of("red") + bold.of("bold")}, 80, 0, -1})
	if s := got.String(); strings.Contains(s, "31m") || !strings.Contains(s, "\x1b[1mbold") {
		t.Errorf("without colours: %q", s)
	}
}

package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"ramet/internal/base/text"
	_ "ramet/internal/testkit"
)

// naive is the editor as one would write it without a thought of cost: a text and
// a place in it.
type naive struct {
	text string
	at   int
}

// bounds are the places between clusters, found by another library.
func (n naive) bounds() []int {
	all := []int{0}
	g := uniseg.NewGraphemes(n.text)
	for g.Next() {
		_, to := g.Positions()
		all = append(all, to)
	}
	return all
}

func (n naive) before() int {
	last := 0
	for _, b := range n.bounds() {
		if b < n.at {
			last = b
		}
	}
	return last
}

func (n naive) after() int {
	for _, b := range n.bounds() {
		if b > n.at {
			return b
		}
	}
	return len(n.text)
}

// settle moves the place to the next bound, where a change brought two together.
func (n naive) settle() naive {
	for _, b := range n.bounds() {
		if b >= n.at {
			n.at = b
			break
		}
	}
	return n
}

func (n naive) cut(from, to int) naive {
	return naive{n.text[:from] + n.text[to:], from}.settle()
}

func (n naive) home() int { return strings.LastIndexByte(n.text[:n.at], '\n') + 1 }

func (n naive) end() int {
	if i := strings.IndexByte(n.text[n.at:], '\n'); i >= 0 {
		return n.at + i
	}
	return len(n.text)
}

func TestTheEditorIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		var n naive
		type moment struct {
			e Editor
			n naive
		}
		var past []moment
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			past = append(past, moment{e, n})
			switch step := rapid.SampledFrom([]string{"insert", "insert", "insert", "left", "right", "home", "end", "top", "bottom", "backspace", "delete", "kill", "undo"}).Draw(t, "step"); step {
			case "insert":
				s := rapid.SampledFrom([]string{"a", "bc ", "\n", "日", "e\u0301", "\u0301", "👩", "\u200d", "👧", "🇪", "🇸", "\t", "ש", "\ufe0f", "한", "\u1100", "\u1161"}).Draw(t, "s")
				e.typing = false // each its own change, to be undone alone
				e, n = e.Insert(s), naive{n.text[:n.at] + s + n.text[n.at:], n.at + len(s)}.settle()
			case "left":
				e, n.at = e.press("left"), n.before()
			case "right":
				e, n.at = e.press("right"), n.after()
			case "home":
				e, n.at = e.press("home"), n.home()
			case "end":
				e, n.at = e.press("end"), n.end()
			case "top":
				e, n.at = e.moveTop(), 0
			case "bottom":
				e, n.at = e.moveBottom(), len(n.text)
			case "backspace":
				e, n = e.press("backspace"), n.cut(n.before(), n.at)
			case "delete":
				e, n = e.press("delete"), n.cut(n.at, n.after())
			case "kill":
				if n.end() > n.at {
					n = n.cut(n.at, n.end())
				} else {
					n = n.cut(n.at, n.after())
				}
				e = e.deleteToEnd()
			case "undo":
				again := e.undoChange().redoChange()
				if len(e.undo) > 0 && (again.Text() != e.Text() || again.Offset() != e.Offset()) {
					t.Fatalf("undone and redone: %q, was %q", again.Text(), e.Text())
				}
			}
			if e.Text() != n.text || e.Offset() != n.at {
				t.Fatalf("%q at %d, want %q at %d", e.Text(), e.Offset(), n.text, n.at)
			}
			width := rapid.IntRange(1, 12).Draw(t, "width")
			sound(t, e, width)
		}
		for _, m := range past { // no value was changed by what came after it
			if m.e.Text() != m.n.text || m.e.Offset() != m.n.at {
				t.Fatalf("the past changed: %q, was %q", m.e.Text(), m.n.text)
			}
		}
	})
}

type reporter interface{ Fatalf(string, ...any) }

// sound: a view is as wide as asked for, the cursor is on it, and nothing in it
// drives a terminal.
func sound(t reporter, e Editor, width int) {
	v := e.View(width)
	for _, row := range v.Rows {
		if ansi.StringWidth(row) > width || text.Safe(row) != row || strings.ContainsAny(row, "\n\t") {
			t.Fatalf("row %q at width %d", row, width)
		}
	}
	if v.Row < 0 || v.Row >= len(v.Rows) || v.Col < 0 || v.Col >= width {
		t.Fatalf("cursor %d:%d on %q at width %d", v.Row, v.Col, v.Rows, width)
	}
	for _, moved := range []Editor{e.moveUp(width), e.moveDown(width)} {
		if w := moved.View(width); moved.Text() == e.Text() && abs(w.Row-v.Row) > 1 {
			t.Fatalf("from row %d to %d", v.Row, w.Row)
		}
	}
}

func abs(n int) int { return max(n, -n) }

func FuzzEditor(f *testing.F) {
	f.Add("hello\nworld", "\x1b[2J\r\n\xff", 5)
	f.Add("👩\u200d", "👧\u0301", 1)
	f.Fuzz(func(t *testing.T, first, second string, width int) {
		width = 1 + (width&0x7fffffff)%60
		e := Editor{}.Insert(first).press("left").paste(second)
		for _, e := range []Editor{e, e.moveUp(width), e.press("alt+left").press("alt+d"), e.undoChange(), e.Replace(1, 3, second), e.Restore(e.State())} {
			sound(t, e, width)
		}
	})
}

// A key costs the same whether a paste is small or huge.
func TestAHugePasteCostsNothingPerKey(t *testing.T) {
	e := Editor{}.Insert("see ").paste(strings.Repeat("0123456789\n", 1<<20))
	size := testing.AllocsPerRun(10, func() { e.Insert("x").press("left") })
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Insert("x").press("left")
			e.View(80)
		}
	})
	if r.AllocedBytesPerOp() > 64<<10 || size > 100 {
		t.Errorf("%d bytes a key", r.AllocedBytesPerOp())
	}
}

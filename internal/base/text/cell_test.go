package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{
		"":                           0,
		"plain":                      5,
		"日本":                         4,
		"e\u0301":                    1,
		"👩‍👩‍👧":                      2,
		"🇪🇸x":                        3,
		"שלום":                       4,
		"a\u0301" + "日" + "👍🏽" + "z": 6,
	} {
		if got := Width(in); got != want {
			t.Errorf("%q has %d cells, want %d", in, got, want)
		}
	}
}

func TestAnAbsurdClusterIsCut(t *testing.T) {
	in := "a" + strings.Repeat("\u0301", 10_000) + "b"
	cluster, width, used := NextCell(in)
	if len(cluster) > cellLongest || width != 1 || in[used:] != "b" || !utf8.ValidString(cluster) {
		t.Errorf("%d bytes, %d cells, used %d of %d", len(cluster), width, used, len(in))
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"word", 4, "word"},
		{"words", 4, "wor…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"日", 1, "…"},
		{"x", 0, ""},
	} {
		if got := CutWidth(c.in, c.width); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本 👩‍👩‍👧 e\u0301", 5)
	f.Fuzz(func(t *testing.T, in string, width int) {
		width %= 50
		if got := Width(CutWidth(in, width)); got > max(width, 0) {
			t.Errorf("%d cells, want at most %d", got, width)
		}
		for rest := in; rest != ""; {
			_, w, used := NextCell(rest)
			if used <= 0 || w < 0 || w > 2 {
				t.Fatalf("%q: used %d, width %d", rest, used, w)
			}
			rest = rest[used:]
		}
		if ansi.Strip(in) == in && len(in) < 30 && utf8.ValidString(in) && ansi.StringWidth(in) != Width(in) {
			t.Errorf("%q: %d cells, the library says %d", in, Width(in), ansi.StringWidth(in))
		}
	})
}

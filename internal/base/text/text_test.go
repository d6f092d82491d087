package text

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/testkit"
)

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":         "plain\n\ttext",
		"dos\r\nline":           "dos\nline",
		"\x1b[31mred\x1b[0m":    "␛[31mred␛[0m",
		"\x1b]52;c;aGk=\a":      "␛]52;c;aGk=␇",
		"over\rwritten":         "over␍written",
		"\u009b31m":             "\uFFFD31m",
		"abc\u202egnp.exe":      "abc\uFFFDgnp.exe",
		"bad\xffbyte":           "bad\uFFFDbyte",
		"family 👩‍👩‍👧 and שלום": "family 👩‍👩‍👧 and שלום",
		"\x7f":                  "␡",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got := Line("two\n  lines here", 8); got != "two lin…" {
		t.Errorf("%q", got)
	}
	if got := Line("日本語", 3); got != "日本語" {
		t.Errorf("%q", got)
	}
}

func FuzzSafe(f *testing.F) {
	f.Add("\x1b[2J\xff\u202e\r\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		out := Safe(in)
		if !utf8.ValidString(out) || !isClean(out) || Safe(out) != out {
			t.Fatalf("Safe(%q) = %q", in, out)
		}
	})
}

// What is tidy is what would come out of the longer way.
func TestATidyLineIsTheSame(t *testing.T) {
	signs := []string{"a", "~", " ", "\t", "\n", "\x1f", "\x7f", "ä", "\xff", "\u00a0"}
	var try func(s string, more int)
	try = func(s string, more int) {
		if got, want := Line(s, 10), strings.Join(strings.Fields(Safe(s)), " "); got != want {
			t.Fatalf("Line(%q) = %q, want %q", s, got, want)
		}
		for i := 0; i < len(signs) && more > 0; i++ {
			try(s+signs[i], more-1)
		}
	}
	try("", 4)
}

func TestWhatIsNoCharacterIsHostile(t *testing.T) {
	for r := rune(0xa0); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Noncharacter_Code_Point, r) && !isHostile(r) {
			t.Errorf("%U is let through", r)
		}
	}
	for _, r := range "äß€─│日👩\u200d\ufffd" {
		if isHostile(r) {
			t.Errorf("%U is not let through", r)
		}
	}
}

func TestNameStandsOnOneLine(t *testing.T) {
	for name, want := range map[string]string{"a.txt": "a.txt", "a\nkept  b": "a␊kept  b", "a\tb\x1b[2J": "a␉b␛[2J", "é\xff": "é\uFFFD"} {
		if got := Name(name); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}

func FuzzJSONKeepsItsValueAndDrivesNothing(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[31m \u009b31m \u202e \u2028 \ufeff \U0001fffe \x7f é")
	f.Fuzz(func(t *testing.T, s string) {
		in := testkit.Must(json.Marshal(s))(t)
		out := JSON(string(in))
		if Safe(out) != out {
			t.Errorf("%q would drive a terminal", out)
		}
		var want, got string
		if json.Unmarshal(in, &want) != nil || json.Unmarshal([]byte(out), &got) != nil || want != got {
			t.Errorf("%q became %q", want, got)
		}
	})
}

func TestStrings(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "key", "***") }
	for _, c := range []struct{ in, want string }{
		{`{"a": "plain",  "n": 1e999}`, `{"a": "plain",  "n": 1e999}`}, // untouched, spaces and all
		{`{"a":["the key",{"key":1}]}`, `{"a":["the ***",{"***":1}]}`},
		{`{"a":"<key>"}`, `{"a":"<***>"}`},
		{`"key"`, `"***"`},
		{`{"a": key`, `{"a": key`}, // no JSON
		{`12345678901234567890`, `12345678901234567890`},
	} {
		if got := string(Strings([]byte(c.in), hide)); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestWord(t *testing.T) {
	names := []string{"reviewer", "writer", "planner", "a"}
	for in, want := range map[string]string{
		"reviwer": "reviewer", "wrietr": "writer", "planner": "planner",
		"zzzzzz": "", "": "a", "b": "a", "plan": "", "writers": "writer",
	} {
		if got := NearestWord(in, names); got != want {
			t.Errorf("Word(%q) = %q, want %q", in, got, want)
		}
	}
	if got := NearestWord("x", nil); got != "" {
		t.Errorf("no candidates: %q", got)
	}
}

func TestWords(t *testing.T) {
	names := []string{"reviews", "review", "review", "deploy", "revue"}
	if got := NearestWords("reviewe", names, 2); !slices.Equal(got, []string{"reviews", "review"}) {
		t.Errorf("%q", got)
	}
	if got := NearestWords("xyzzy", names, 2); got != nil {
		t.Errorf("%q", got)
	}
}

// Of what is written the beginning and the end are kept, however small its pieces are.
func TestEndsBuffer(t *testing.T) {
	const all = "0123456789abcdef"
	for _, step := range []int{1, 2, 3, 5, 16} {
		for size := range len(all) + 1 {
			e := EndsBuffer{Head: 3, Tail: 4}
			for at := 0; at < size; at += step {
				e.Write([]byte(all[at:min(at+step, size)]))
			}
			first, last, missing := e.Kept()
			if string(first) != all[:min(3, size)] || string(last) != all[max(min(3, size), size-4):size] || missing != max(0, size-7) {
				t.Errorf("%d in pieces of %d: %q %q %d", size, step, first, last, missing)
			}
		}
	}
}

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

func TestMentionsAreFoundOutsideOfCode(t *testing.T) {
	for in, want := range map[string]string{
		"see @docs/a.md and @b.md.":               "docs/a.md b.md",
		"- @README.md\n* @x/y\n(@z.txt)":          "README.md x/y z.txt",
		"mail me@example.com, a@b":                "",
		"`@code` and ``@a ` b`` @c":               "c",
		"```\n@in/fence\n```\n@after":             "after",
		"~~~~ go\n@in\n```\n~~~\n@in\n~~~~\n@out": "out",
		"@~/mine.md @/abs.md @":                   "~/mine.md /abs.md",
		"an open ` stays @open":                   "open",
		"**@bold.md**":                            "bold.md",
		"":                                        "",
	} {
		var got []string
		for _, m := range Mentions(in) {
			got = append(got, m.Path)
			if in[m.Start:m.End] != "@"+m.Path {
				t.Errorf("%q: %q is at %d to %d", in, m.Path, m.Start, m.End)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", in, s, want)
		}
	}
}

func FuzzMentionsStandWhereTheySay(f *testing.F) {
	f.Add("a @b `c` @d\n```\n@e")
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, m := range Mentions(s) {
			if m.Start < last || m.End > len(s) || s[m.Start:m.End] != "@"+m.Path || m.Path == "" {
				t.Fatalf("%q: %+v", s, m)
			}
			last = m.End
		}
	})
}

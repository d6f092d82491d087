package text

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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

package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
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

package trust

import (
	"strings"
	"testing"
	"unicode"
)

func TestInvisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain text\twith tabs\r\nand lines ä 漢字 😀\n", ""},
		{"family \U0001F469\u200D\U0001F4BB, heart \u2764\uFE0F, key 1\uFE0F\u20E3", ""},
		{"می\u200Cخواهم", ""},
		{"a\nb\u200Bc", "line 2: zero-width U+200B"},
		{"a\u200B\u200B\u2060b", "line 1: zero-width U+200B and 2 more"},
		{"\uFEFFbegins", "line 1: zero-width U+FEFF"},
		{"x\u202Ey", "line 1: bidi U+202E"},
		{"x\u2066y\u2069", "line 1: bidi U+2066; line 1: bidi U+2069"},
		{"ok\U000E0072\U000E006D\U000E0020\U000E002D\U000E0072\U000E0066", `line 1: tag U+E0072 and 5 more, which spell "rm -rf"`},
		{"\x1b[8mhidden", "line 1: escape U+001B"},
		{"a\rb", "line 1: escape U+000D"},
		{"a\u009bb", "line 1: escape U+009B"},
		{"\U0001F600\U000E0120\U000E0121", "line 1: variation U+E0120 and 1 more"},
		{"a\xffb", "line 1: not UTF-8 U+00FF"},
	} {
		var got []string
		for _, m := range Invisible([]byte(c.text)) {
			got = append(got, m.String())
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%+q: %s, want %s", c.text, s, c.want)
		}
		shown := Reveal(c.text)
		if left := Invisible([]byte(shown)); len(left) > 0 {
			t.Errorf("%+q is shown as %+q", c.text, shown)
		}
		if (c.want == "") != (shown == c.text) {
			t.Errorf("%+q is shown as %+q", c.text, shown)
		}
	}
}

func FuzzRevealLeavesNothingInvisible(f *testing.F) {
	f.Add("a\u200D\U0001F600\u200D\u200Db\xff\uFE0F\uFE0F")
	f.Fuzz(func(t *testing.T, s string) {
		if left := Invisible([]byte(Reveal(s))); len(left) > 0 {
			t.Errorf("%+q is shown as %+q: %v", s, Reveal(s), left)
		}
	})
}

// What is invisible agrees with the tables of Unicode.
func TestInvisibleAgreesWithUnicode(t *testing.T) {
	zeroWidth := "\u00AD\u034F\u115F\u1160\u180E\u200B\u200C\u200D\u2028\u2029\u2060\u2061\u2062\u2063\u2064\u2065\u206A\u206B\u206C\u206D\u206E\u206F\u3164\uFEFF\uFFA0\uFFF9\uFFFA\uFFFB"
	for r := range rune(unicode.MaxRune + 1) {
		want := ""
		switch {
		case r == '\n' || r == '\t':
		case unicode.Is(unicode.Cc, r):
			want = "escape"
		case unicode.Is(unicode.Bidi_Control, r):
			want = "bidi"
		case r>>7 == 0xE0000>>7:
			want = "tag"
		case unicode.Is(unicode.Variation_Selector, r) && !unicode.Is(unicode.Mongolian, r) && r>>4 != 0x180:
			want = "variation"
		case strings.ContainsRune(zeroWidth, r):
			want = "zero-width"
		}
		if got := describeInvisible('a', r, '.'); got != want {
			t.Errorf("U+%04X is %q, want %q", r, got, want)
		}
	}
	for _, c := range []struct {
		before, r, after rune
		want             string
	}{
		{'a', '\r', '\n', ""}, {'a', '\r', 'a', "escape"}, {'👩', 0x200D, '💻', ""}, {'👩', 0x200D, 'a', "zero-width"}, {'a', 0x200D, '💻', "zero-width"},
		{'ن', 0x200C, 'م', ""}, {'ن', 0x200C, ' ', "zero-width"}, {' ', 0x200C, 'م', "zero-width"}, {0xFE0F, 0x200D, 0x1F3FB, ""}, {0x1F3FF, 0x200D, '♂', ""},
		{'❤', 0xFE0F, 0, ""}, {'#', 0xFE0F, 0, ""}, {0, 0xFE0F, 0, "variation"}, {0xFE0F, 0xFE0F, 0, "variation"}, {0xE01EF, 0xFE0F, 0, "variation"}, {0x7F, 0xFE0F, 0, "variation"}, {0x80, 0xFE0F, 0, ""},
	} {
		if got := describeInvisible(c.before, c.r, c.after); got != c.want {
			t.Errorf("U+%04X between U+%04X and U+%04X is %q, want %q", c.r, c.before, c.after, got, c.want)
		}
	}
}

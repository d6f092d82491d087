package trust

import (
	"strings"
	"testing"
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

package tui

import (
	"strings"
	"testing"
)

// FuzzWrap checks that no line is wider than the screen and that nothing but spaces is lost: a command that asks for
// permission is shown whole.
func FuzzWrap(f *testing.F) {
	f.Add("echo rm -r ./"+strings.Repeat("a", 61)+"7 --verbose --force", 76)
	f.Add("open /var/lib/ramet/some _file- name: no such file or directory", 60)
	f.Add("日本語 - 日本語/日本語 \u00a0 a\u0301b 👩‍👩‍👧 x", 7)
	f.Fuzz(func(t *testing.T, s string, w int) {
		s, w = clean(s), 2+(w&0xff)
		lines := wrap(s, w)
		for _, l := range lines {
			if width(l) > w {
				t.Errorf("a line of %d cells in %d: %q", width(l), w, l)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := bare(strings.Join(lines, "\n")), bare(s); got != want {
			t.Errorf("%q became %q at %d", want, got, w)
		}
	})
}

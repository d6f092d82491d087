package loop

import (
	"strings"
	"testing"
)

// A text is left as it is up to its limit, and is then cut between letters.
func TestLongTextsAreCutBetweenLetters(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"abж", 3, "ab…"}, {"abж", 4, "abж"}, {"жж", 1, "…"}} {
		if got := clipEnd(c.text, c.limit); got != c.want {
			t.Errorf("the first %d bytes of %q are %q, want %q", c.limit, c.text, got, c.want)
		}
	}
	for n := range 40 {
		text := strings.Repeat("ж", n)
		if got := clipMiddle(text, 20); len(text) <= 20 && got != text || len(text) > 20 && (!strings.HasPrefix(got, "жжж") || !strings.HasSuffix(got, "жжж") || !strings.Contains(got, "bytes are left out")) {
			t.Errorf("%d letters: %q", n, got)
		}
	}
}

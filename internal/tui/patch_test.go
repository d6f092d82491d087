package tui

import (
	"strings"
	"testing"
)

func TestAPatchHasNumbersAndMarkedWords(t *testing.T) {
	got := patched(strings.Split("--- a/m.go\n+++ b/m.go\n@@ -9,4 +9,4 @@ func add\n func add(a, b int) int {\n-\treturn a - b\n+\treturn a + b\n }\n-gone\n", "\n"))
	var plain []string
	for _, l := range got {
		plain = append(plain, strip(l))
	}
	want := "   --- a/m.go|   +++ b/m.go|   @@ -9,4 +9,4 @@ func add| 9  func add(a, b int) int {|10 -\treturn a - b|10 +\treturn a + b|11  }|12 -gone|   "
	if s := strings.Join(plain, "|"); s != want {
		t.Errorf("%q\nwanted\n%q", s, want)
	}
	if !strings.Contains(got[4], "\x1b[31;7m-\x1b[m") || !strings.Contains(got[5], "\x1b[32;7m+\x1b[m") {
		t.Errorf("what differs is not marked: %q %q", got[4], got[5])
	}
	for _, odd := range []string{"", "no patch at all", "@@ -1 +1 @@\n-ä\n+ö", "@@ -1 +1 @@\n-\n+", "@@ -0,0 +1 @@\n+new"} {
		for i, l := range patched(strings.Split(odd, "\n")) {
			if !strings.Contains(strip(l), strings.Split(odd, "\n")[i]) {
				t.Errorf("%q lost a line: %q", odd, l)
			}
		}
	}
}

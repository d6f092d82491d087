package tui

import (
	"strings"
	"testing"

	"ramet/internal/face/tui/markdown"
)

func TestAPatchHasNumbersAndMarkedWords(t *testing.T) {
	got := patched(strings.Split("--- a/m.go\n+++ b/m.go\n@@ -9,4 +9,4 @@ func add\n func add(a, b int) int {\n-\treturn a - b\n+\treturn a + b\n }\n-gone\n", "\n"), markdown.Basic())
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
		for i, l := range patched(strings.Split(odd, "\n"), markdown.Dark()) {
			if !strings.Contains(strip(l), strings.Split(odd, "\n")[i]) {
				t.Errorf("%q lost a line: %q", odd, l)
			}
		}
	}
}

// The code of a patch has its colours, on a ground that tells the sides; a comment that one side
// leaves open is none on the other.
func TestAPatchHasTheColoursOfItsCode(t *testing.T) {
	lines := strings.Split("+++ b/m.go\n@@ -1,3 +1,3 @@\n func f() {\n-\treturn /* 1\n+\treturn 2\n }\n+++ b/notes\n@@ -1 +1 @@\n-old\n+new", "\n")
	theme := markdown.Dark()
	got := patched(lines, theme)
	for i, l := range got {
		if !strings.HasSuffix(strip(l), lines[i]) {
			t.Errorf("%q became %q", lines[i], strip(l))
		}
	}
	keyword := func(word, ground string) string {
		out := "\x1b[" + string(theme.Keyword)
		if ground != "" {
			out += ";" + ground
		}
		return out + "m" + word
	}
	for i, want := range map[int]string{2: keyword("func", ""), 3: keyword("return", "48;5;52"), 4: keyword("return", "48;5;22")} {
		if !strings.Contains(got[i], want) {
			t.Errorf("line %d has no %q: %q", i, want, got[i])
		}
	}
	if !strings.Contains(got[3], ";7m/* 1") || !strings.Contains(got[4], ";7m2") {
		t.Errorf("what differs is not marked: %q %q", got[3], got[4])
	}
	if strings.Contains(got[5], string(theme.Comment)) {
		t.Errorf("the comment went on: %q", got[5])
	}
	if strings.Contains(got[8], "48;5") {
		t.Errorf("a file without a language: %q", got[8])
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWordsIn(t *testing.T) {
	for name, want := range map[string]int{"take": 1, "acquireLease": 2, "HTTPServer": 1, "parseHTTP": 2, "New": 1, "a": 1, "openTrashFolder": 3} {
		if got := wordsIn(name); got != want {
			t.Errorf("%s: %d words, want %d", name, got, want)
		}
	}
}

func TestOnlyChangedLinesAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	const source = `package x

// near says whether nobody waits.
func near() string { return "nobody answers here" }

// far is what is far.
func far() {}
`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lines []int
		want  []string
	}{
		{nil, nil},
		{[]int{3}, []string{"3: ", "3: ", "3: "}},
		{[]int{4}, []string{"4: "}},
		{[]int{6}, []string{"6: "}},
	} {
		lines := map[int]bool{}
		for _, n := range c.lines {
			lines[n] = true
		}
		found, err := checkFile(file, lines)
		if err != nil || len(found) != len(c.want) {
			t.Fatalf("%v: %q, %v", c.lines, found, err)
		}
		for i, f := range found {
			if !strings.HasPrefix(f, c.want[i]) {
				t.Errorf("%v: %q", c.lines, f)
			}
		}
	}
}

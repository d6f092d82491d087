package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWordsIn(t *testing.T) {
	for name, want := range map[string]int{"take": 1, "acquireLease": 2, "HTTPServer": 1, "parseHTTP": 2, "New": 1, "a": 1, "openTrashFolder": 3} {
		if got := wordsIn(name); got != want {
			t.Errorf("%s: %d words, want %d", name, got, want)
		}
	}
}

func TestRulesMatchTheirExamples(t *testing.T) {
	for _, r := range slices.Concat(commentRules, messageRules) {
		if !r.pattern.MatchString(r.example) {
			t.Errorf("%q does not match %q", r.pattern, r.example)
		}
	}
}

func TestCheckFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	const source = `package x

// near says whether nobody waits.
func near() string { return "nobody answers here" }

// far is what is far.
func far() {}

// The widest one.
func widest() {}

// longest returns the longest one.
func longest() string { return "nobody" }
`
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := checkFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[finding]int{}
	for _, f := range found {
		got[finding{line: f.line, message: f.message}]++
	}
	want := map[finding]int{{line: 3}: 3, {line: 4, message: true}: 1, {line: 6}: 2, {line: 9}: 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v", found)
	}
}

package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func names(pattern string, candidates ...string) string {
	var got []string
	for _, m := range FindFuzzy(pattern, candidates) {
		got = append(got, candidates[m.Index])
	}
	return strings.Join(got, " ")
}

func TestWhatReadsBestComesFirst(t *testing.T) {
	for _, c := range []struct{ pattern, candidates, want string }{
		{"", "b a", "b a"},
		{"fo", "info fork of", "fork info"},
		{"mail", "mailbox check-mail email mail", "mail mailbox check-mail email"},
		{"cm", "compact check-mail cm", "cm check-mail compact"},
		{"main", "internal/main/x.go cmd/main.go domain.go", "cmd/main.go internal/main/x.go domain.go"},
		{"tuied", "internal/tui/editor.go tuition/red.go", "internal/tui/editor.go tuition/red.go"},
		{"A", "ada Ada", "Ada"},
		{"a", "ada Ada", "Ada ada"},
		{"é", "cafe café CAFÉ", "CAFÉ café"},
		{"zz", "a b", ""},
		{"日本", "x日y本 日本", "日本 x日y本"},
	} {
		if got := names(c.pattern, strings.Fields(c.candidates)...); got != c.want {
			t.Errorf("%q: %s, want %s", c.pattern, got, c.want)
		}
	}
}

func TestEachWordMatchesOnItsOwn(t *testing.T) {
	if got := names("go tui", "tui/main.go", "tui/doc.md", "cli/main.go"); got != "tui/main.go" {
		t.Error(got)
	}
}

func TestTheOrderIsTotal(t *testing.T) {
	files := many(500)
	want := FindFuzzy("intgo", files)
	backwards := slices.Clone(files)
	slices.Reverse(backwards)
	got := FindFuzzy("intgo", backwards)
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d and %d", len(got), len(want))
	}
	for i := range got {
		if files[want[i].Index] != backwards[got[i].Index] {
			t.Fatalf("place %d: %s and %s", i, files[want[i].Index], backwards[got[i].Index])
		}
	}
}

func many(n int) []string {
	files := make([]string, n)
	for i := range files {
		files[i] = fmt.Sprintf("internal/package%d/deeper/some_file_%d.go", i%97, i)
	}
	return files
}

func FuzzFind(f *testing.F) {
	f.Add("ab", "xaYb")
	f.Add("日 É", "É/日本")
	f.Add("\xff", "a\xffb")
	f.Fuzz(func(t *testing.T, pattern, candidate string) {
		found := len(FindFuzzy(pattern, []string{candidate})) > 0
		if !utf8.ValidString(pattern + candidate) {
			return // what counts is that it comes to an end
		}
		want := true
		for _, w := range strings.Fields(pattern) {
			want = want && occurs(w, candidate)
		}
		if found != want {
			t.Errorf("%q in %q: found %v, want %v", pattern, candidate, found, want)
		}
	})
}

// occurs says whether all letters of a word stand in a text, in order; a word with a
// capital is meant as it is written.
func occurs(word, text string) bool {
	fold := unicode.ToLower
	if strings.ToLower(word) != word {
		fold = func(r rune) rune { return r }
	}
	letters := []rune(word)
	for _, r := range text {
		if len(letters) > 0 && fold(r) == fold(letters[0]) {
			letters = letters[1:]
		}
	}
	return len(letters) == 0
}

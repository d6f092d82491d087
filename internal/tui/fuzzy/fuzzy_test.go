package fuzzy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func names(pattern string, candidates ...string) string {
	var got []string
	for _, m := range Find(pattern, candidates) {
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

func TestPositionsAreThoseOfTheLetters(t *testing.T) {
	got := Find("cm", []string{"check-mail"})
	if len(got) != 1 || !slices.Equal(got[0].Positions, []int{0, 6}) {
		t.Errorf("%v", got)
	}
	if p, ok := Positions("x", "abc"); ok || p != nil {
		t.Error("matched")
	}
}

func TestTheOrderIsTotal(t *testing.T) {
	files := many(500)
	want := Find("intgo", files)
	backwards := slices.Clone(files)
	slices.Reverse(backwards)
	got := Find("intgo", backwards)
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

// The promise is 10 ms; a test beside others on two cores gets five times that.
func TestTenThousandAreFast(t *testing.T) {
	files, best := many(10_000), time.Hour
	for range 5 {
		start := time.Now()
		Find("pkgfile9", files)
		best = min(best, time.Since(start))
	}
	if best > 50*time.Millisecond {
		t.Errorf("took %s", best)
	}
}

func BenchmarkFuzzyTenThousand(b *testing.B) {
	files := many(10_000)
	for b.Loop() {
		Find("pkgfile9", files)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("ab", "xaYb")
	f.Add("日 É", "É/日本")
	f.Add("\xff", "a\xffb")
	f.Fuzz(func(t *testing.T, pattern, candidate string) {
		found := Find(pattern, []string{candidate})
		if len(found) == 0 {
			return
		}
		if !slices.IsSorted(found[0].Positions) {
			t.Error("positions out of order")
		}
		var got []rune
		for _, p := range found[0].Positions {
			if p < 0 || p >= len(candidate) {
				t.Fatalf("position %d in %q", p, candidate)
			}
			r, _ := utf8.DecodeRuneInString(candidate[p:])
			got = append(got, unicode.ToLower(r))
		}
		if words := strings.Fields(pattern); len(words) == 1 && utf8.ValidString(pattern+candidate) {
			want := []rune{}
			for _, r := range words[0] {
				want = append(want, unicode.ToLower(r))
			}
			if string(got) != string(want) {
				t.Errorf("%q in %q matched %q", pattern, candidate, string(got))
			}
		}
	})
}

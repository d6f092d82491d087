package tui

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"ramet/internal/tui/markdown"
)

func TestAGrowingSpeechLooksAsTheWholeOne(t *testing.T) {
	said := "# A title\n\nSome *words* and\nmore of them.\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\nThe end"
	for _, piece := range []int{1, 3, 7, len(said)} {
		b := &block{form: speech, tail: &growing{}}
		for rest := said; rest != ""; {
			n := min(piece, len(rest))
			b.body = b.tail.add(rest[:n])
			rest = rest[n:]
			whole := &block{form: speech, body: b.body}
			got, want := b.lines(30, false, markdown.Basic()), whole.lines(30, false, markdown.Basic())
			if !slices.Equal(got, want) {
				t.Fatalf("after %q:\n%q\nwant\n%q", b.body, got, want)
			}
		}
	}
}

// A word more costs the same, however much was said before.
func TestAWordMoreCopiesNothing(t *testing.T) {
	const words = 500
	bytes := func(paragraphs int) uint64 { // for all words
		b := &block{form: speech, tail: &growing{}}
		b.body = b.tail.add(strings.Repeat("Some words.\n\n", paragraphs))
		b.lines(80, false, markdown.Basic())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range words {
			b.body = b.tail.add("word ")
			b.lines(80, false, markdown.Basic())
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := bytes(10), bytes(20_000)
	if many > 2*few+8<<20 { // what grows by doubling may grow once
		t.Errorf("%d words behind 20,000 paragraphs allocate %d bytes, behind 10 %d", words, many, few)
	}
}

package tui

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"ramet/internal/face/tui/markdown"
)

func TestAGrowingSpeechLooksAsTheWholeOne(t *testing.T) {
	for name, said := range map[string]string{
		"prose":   "# A title\n\nSome *words* and\nmore of them.\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\nThe end",
		"fences":  "~~~sh\nls -l /a/very/long/path/that/goes/over/the/edge\n~~~\ntext\n````\n```\nnot the end\n````\n    by its margin\n\n```go\nx := `open",
		"lists":   "1. one\n   goes on\n\n   - inner\n     1. deeper\n\n2. two\n- [ ] to do\n- [x] done\n* * *\nafter",
		"tables":  "| name | 大きさ |\n|:--|--:|\n| a | 1 |\n| **b** | a longer one than before |\n| c |\n\nafter | no | table",
		"quotes":  "> said\nlazily\n> > inner\n>\n> ```\n> code\n> ```\n\nout of it",
		"links":   "See [one], [two][2] and [three](http://x/y).\n\n[one]: http://a/b\n[2]: <http://c> 'a title'\n\nAnd [one] again.[^n]\n\n[^n]: A note.",
		"setext":  "A title\n=======\n\nAnother\nin two lines\n---\n\n---\ntext\n- item\n---\n",
		"returns": "\r\nA line\r\nand another\r\n\r\n- one\r\n- two\r\n\r\n",
		"letters": "日本語のとても長い文章がここにあります。👩\u200d👩\u200d👧 e\u0301 \u202eשלום\x1b[31m red\n**日本** `語` &amp; <b>bold</b>\\\nline",
	} {
		for _, piece := range []int{1, 3, 7, len(said)} {
			t.Run(name, func(t *testing.T) { growsAlike(t, said, piece) })
		}
	}
}

// growsAlike says a text in pieces and has it laid out after each.
func growsAlike(t *testing.T, said string, piece int) {
	for _, w := range []int{30, 12} {
		b := &block{form: speech, tail: &growing{}}
		for rest := said; rest != ""; {
			n := min(piece, len(rest))
			b.body = b.tail.add(rest[:n])
			rest = rest[n:]
			whole := &block{form: speech, body: b.body}
			got, want := b.lines(w, false, markdown.Basic()), whole.lines(w, false, markdown.Basic())
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

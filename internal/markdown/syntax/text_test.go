package syntax

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A reader that read much before reads a text as a new one does.
func TestAReaderForgets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	marks := slices.Concat(pieces["marks"], pieces["links"], []string{strings.Repeat("*a* ", 100), "> "})
	var used Reader
	for range 1000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(marks[r.IntN(len(marks))])
		}
		text := b.String()
		got, want := listing{src: []byte(text)}, listing{src: []byte(text)}
		got.children(used.Read(text))
		want.children(new(Reader).Read(text))
		if !slices.Equal(got.all(), want.all()) {
			t.Fatalf("%q: %q, not %q", text, got.all(), want.all())
		}
	}
}

// What is read again and again, while a text grows, needs no memory of its own.
func TestAReaderUsesItsMemoryAgain(t *testing.T) {
	const text = "Some *words*, **more** of `them`,\na [link](https://a.b) and ~~nothing~~ \\* else &amp; <https://c.d>.\n  A third line."
	var r Reader
	r.Read(text)
	if n := testing.AllocsPerRun(100, func() { r.Read(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// HTML, definitions, items and bare addresses are text for it.
func TestAReaderReadsOneParagraph(t *testing.T) {
	const text = "# a <b>c</b> ~d~ ~~e~~\n[a]: b\n- [a] http://f.g"
	l := listing{src: []byte(text)}
	l.children(new(Reader).Read(text))
	want := []string{`text 0 "# a <b>c</b> ~d~ "`, "Strike", ` text 19 "e"`, "Soft", `text 23 "[a]: b"`, "Soft", `text 30 "- [a] http://f.g"`}
	if got := l.all(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

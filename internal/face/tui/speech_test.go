package tui

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/face/tui/markdown"
)

// A long speech that grows looks as it will when it is over.
func TestAGrowingSpeechLooksAsTheWholeOne(t *testing.T) {
	said := strings.Repeat("# A title\n\nSome *words* and\nmore of them.\n\n```go\nfunc main() {\n\n}\n```\n\n1. one\n\n2. two\n\n   inner\n\nAfter.\n\n", 300)
	b := &block{form: speech, grows: true}
	for rest := said; rest != ""; {
		n := min(5_000, len(rest))
		b.body, rest = b.body+rest[:n], rest[n:]
		whole := &block{form: speech, body: b.body}
		if got, want := b.lines(60, false, markdown.Basic()), whole.lines(60, false, markdown.Basic()); !slices.Equal(got, want) {
			t.Fatalf("%d bytes look different", len(b.body))
		}
	}
	if b.begun.size < len(said)/2 {
		t.Errorf("of %d bytes only %d are laid out once", len(said), b.begun.size)
	}
	if b.lines(30, false, markdown.Basic()); b.begun.layout.width != 30 {
		t.Error("it keeps the width of the screen before")
	}
}

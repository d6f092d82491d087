package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// mark reverses the text that is searched for in lines that are shown. The rest of a line keeps its colors and its ground.
func (f *search) mark(lines []string) {
	if !f.on || f.typed == "" {
		return
	}
	want := strings.ToLower(f.typed)
	for i, l := range lines {
		bare := strip(l)
		low := strings.ToLower(bare)
		if len(low) != len(bare) { // letters that change their size are not marked
			continue
		}
		out, done := "", 0
		for at := strings.Index(low, want); at >= 0; at = strings.Index(low[done:], want) {
			from, to := done+at, done+at+len(want)
			out += ansi.Cut(l, width(bare[:done]), width(bare[:from])) + "\x1b[m" + reverse.of(bare[from:to])
			done = to
		}
		if done > 0 {
			lines[i] = out + ansi.TruncateLeft(l, width(bare[:done]), "")
		}
	}
}

package markdown

import (
	"bytes"

	"ramet/internal/fault"
)

// The parser's time grows with the square of the marks in one paragraph, and of how deep
// quotes and lists are nested. No page that people wrote comes near these.
const (
	maxMarks = 50_000 // in lines without a blank one between them
	maxDepth = 500    // marks of quotes and lists at the start of a line
)

// tangled refuses pages that would keep the parser busy for minutes.
func tangled(source []byte) error {
	marks, number := 0, 0
	for line := range bytes.Lines(source) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			marks = 0
			continue
		}
		depth, start := 0, true
		for _, c := range line {
			switch c {
			case '[', ']', '*', '_', '~', '`', '<', '(':
				marks++
			}
			switch {
			case !start:
			case c == '>' || c == '-' || c == '+' || c == '*' || c == '.' || c == ')':
				depth++
			case c != ' ' && c != '\t' && (c < '0' || c > '9'):
				start = false
			}
		}
		spaces := (len(line) - len(bytes.TrimLeft(line, " \t"))) / 2
		// A rule is a long row of the same mark, which nests nothing.
		if rule := len(bytes.Trim(bytes.TrimSpace(line), "-*+.")) == 0; marks > maxMarks || depth > maxDepth && !rule || spaces > 10*maxDepth {
			return fault.New(fault.InvalidText, "read page: line %d: more marks, or deeper ones, than a page can have", number).
				WithHint("write it more plainly, with blank lines between paragraphs")
		}
	}
	return nil
}

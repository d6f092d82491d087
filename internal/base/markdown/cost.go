package markdown

import (
	"bytes"

	"ramet/internal/base/fault"
)

// The parser cannot be cancelled, and its time grows with the square of the marks in a paragraph and of the depth of
// quotes and lists, and with the rows times the columns of a table. Pages that people write stay far below these.
const (
	maxMarks = 20_000
	maxDepth = 500
	maxCells = 100_000
	maxWork  = 500 << 20
)

// Limits bound what a page has.
type Limits struct {
	Marks int // of inline elements, in lines without a blank one between them
	Depth int // marks of quotes and lists at the start of a line
	Cells int // of one table
	Work  int // the squares of the marks of all paragraphs and of the depths of all lines
}

// Check refuses pages that would keep the parser busy.
func (m Limits) Check(source []byte) error {
	marks, number, rows, columns, work := 0, 0, 0, 0, 0
	for line := range bytes.Lines(source) {
		number++
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 {
			work += marks * marks
			marks, rows, columns = 0, 0, 0
			continue
		}
		rows++
		columns = max(columns, bytes.Count(line, []byte("|"))+1)
		depth, start := 0, true
		for _, c := range line {
			switch c {
			case '[', ']', '*', '_', '~', '`', '<', '(', '&', '!':
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
		isRule := len(bytes.Trim(trimmed, "-*+.")) == 0
		if isRule {
			marks, depth = 0, 0
		}
		work += 4 * depth * depth
		if marks > m.Marks || depth > m.Depth || spaces > 10*m.Depth || rows*columns > m.Cells || work+marks*marks > m.Work {
			return fault.New(fault.InvalidText, "read page: line %d: more marks, columns or levels than a page can have", number).
				WithHint("write it more plainly, with blank lines between paragraphs")
		}
	}
	return nil
}

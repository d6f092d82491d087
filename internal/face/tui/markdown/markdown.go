// Package markdown turns Markdown into the lines of a terminal.
//
// It promises:
//
//   - No line is wider than asked for, in cells, whatever the text.
//   - A line holds text and the colour codes (SGR) of the theme, nothing else that
//     a terminal would obey: the source is made safe before it is read, and what
//     character references (&#27;) make of it is made safe again.
//   - Text keeps its logical order and its clusters whole.
//   - The time is linear in the source. One block is at most a few kilobytes: longer
//     paragraphs, tables and lines are taken in pieces.
//   - A Stream that was given a text in any pieces shows what Render shows of the
//     whole, at a cost for each piece that does not grow with what was before.
//
// The last one shapes it: lines of source go one by one through a small machine
// that knows which blocks are open and shows a block when it ends. What it showed
// never changes. That is why there are no link definitions (`[1]: address`): a line
// at the end must not change one at the beginning. They are shown as they stand, as
// is HTML. The inline text of a block is parsed by goldmark, block by block.
package markdown

// Line is one line of the terminal.
type Line struct {
	Text    string // with the theme's codes
	Plain   string // without them
	Width   int    // cells
	Wrapped bool   // it goes on with the line before: no line end stands between them in the source
}

// Render shows a whole text.
func Render(src string, width int, theme Theme) []Line {
	s := NewStream(width, theme)
	s.Write(src)
	return s.Lines()
}

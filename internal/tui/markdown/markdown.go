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
// is HTML. Inline text is read by goldmark, block by block.
package markdown

import (
	"strings"

	"ramet/internal/text"
)

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

// Code shows a text as it is, highlighted; its lines are broken only where they are
// too long. The language is named as behind a fence; "diff" colours what was added
// and removed, and one that is not known gives plain text.
func Code(src, language string, width int, theme Theme) []Line {
	lex := newLexer(language)
	return asItIs(src, func(line string) []row {
		return breakAnywhere(lex.line(line, theme), max(width, 1))
	})
}

// Text shows a text as it is, in one style, broken between words where its lines
// are too long.
func Text(src string, width int, style Style) []Line {
	return asItIs(src, func(line string) []row {
		return breakAtSpaces([]span{{line, style}}, max(width, 1))
	})
}

// asItIs takes a text line by line, and lines that are far too long in pieces.
func asItIs(src string, rows func(line string) []row) []Line {
	if src == "" {
		return nil
	}
	var out []Line
	for line := range strings.SplitSeq(strings.TrimSuffix(src, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		for goesOn := false; ; goesOn = true {
			n := len(line)
			if n >= longest+reach {
				n = cutAt(line)
			}
			for i, r := range rows(expandTabs(text.Safe(line[:n]))) {
				out = append(out, build(nil, r, goesOn || i > 0))
			}
			if line = line[n:]; line == "" {
				break
			}
		}
	}
	return out
}

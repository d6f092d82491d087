package markdown

import (
	"strings"

	"ramet/internal/base/text"
)

// span is text in one style. A line feed in it is a line break.
type span struct {
	text  string
	style Style
}

// row is one line before its prefix is put on.
type row struct {
	spans []span
	width int
}

func (r *row) add(text string, style Style, width int) {
	if text == "" {
		return
	}
	if last := len(r.spans) - 1; last >= 0 && r.spans[last].style == style {
		r.spans[last].text += text
	} else {
		r.spans = append(r.spans, span{text, style})
	}
	r.width += width
}

func (r *row) join(other row) {
	for _, s := range other.spans {
		r.add(s.text, s.style, 0)
	}
	r.width += other.width
}

// build makes a line of a prefix and a row.
func build(prefix []span, r row, wrapped bool) Line {
	var styled, plain strings.Builder
	style, coloured, width := Style(""), false, r.width
	write := func(s span) {
		if s.style != style {
			if style != "" {
				styled.WriteString("\x1b[m")
			}
			if s.style != "" {
				styled.WriteString("\x1b[" + string(s.style) + "m")
				coloured = true
			}
			style = s.style
		}
		styled.WriteString(s.text)
		plain.WriteString(s.text)
	}
	for _, s := range prefix {
		write(s)
		width += text.Width(s.text)
	}
	for _, s := range r.spans {
		write(s)
	}
	if style != "" {
		styled.WriteString("\x1b[m")
	}
	line := Line{Plain: plain.String(), Width: width, Wrapped: wrapped}
	line.Text = line.Plain
	if coloured {
		line.Text = styled.String()
	}
	return line
}

// fits makes one row of spans that are short and plain enough to need no care,
// which most are.
func fits(spans []span, width int) (row, bool) {
	n := 0
	for _, s := range spans {
		if n += len(s.text); n > width {
			return row{}, false
		}
		for i := range len(s.text) {
			if s.text[i] < ' ' || s.text[i] >= 0x7f {
				return row{}, false
			}
		}
	}
	return row{spans, n}, true
}

// plainRun is how many letters at the beginning of s are surely clusters of one cell.
func plainRun(s string, most int) int {
	n := 0
	for n < len(s) && n < most && s[n] > ' ' && s[n] < 0x7f {
		n++
	}
	if n > 0 && n < len(s) && s[n] >= 0x80 { // which may belong to the last one
		n--
	}
	return n
}

// clusters calls do for each cluster, at most width wide.
func clusters(spans []span, width int, do func(cluster string, style Style, w int)) {
	pieces(spans, width, func(string, int) int { return 0 }, do)
}

// pieces is clusters, with runs of letters taken together where run finds one.
func pieces(spans []span, width int, run func(s string, most int) int, do func(piece string, style Style, w int)) {
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			if n := run(rest, width); n > 0 {
				do(rest[:n], s.style, n)
				rest = rest[n:]
				continue
			}
			c, w, used := text.NextCell(rest)
			if w > width {
				c, w = "?", 1
			}
			do(c, s.style, w)
			rest = rest[used:]
		}
	}
}

// wrap fills rows with words: spaces are one space each, a word that is too long
// is broken, and wide characters (which are written without spaces) may be parted.
func wrap(spans []span, width int) []row {
	var rows []row
	var line, word row
	gap, gapStyle := false, Style("")
	endRow := func() { rows, line, gap = append(rows, line), row{}, false }
	endWord := func() {
		if len(word.spans) == 0 {
			return
		}
		space := 0
		if gap && len(line.spans) > 0 {
			space = 1
		}
		if len(line.spans) > 0 && line.width+space+word.width > width {
			endRow()
			space = 0
		}
		if space > 0 {
			if gapStyle != word.spans[0].style {
				gapStyle = "" // no underline or strike between two things
			}
			line.add(" ", gapStyle, 1)
		}
		line.join(word)
		word, gap = row{}, false
	}
	pieces(spans, width, plainRun, func(c string, style Style, w int) {
		switch {
		case c == "\n":
			endWord()
			endRow()
		case c == " " || c == "\t":
			endWord()
			gap, gapStyle = true, style
		case w == 2:
			endWord()
			word.add(c, style, w)
			endWord()
		case word.width+w > width:
			n := 0
			if w == len(c) { // a run of letters: as many as there is room for
				n = width - word.width
			}
			word.add(c[:n], style, n)
			endWord()
			endRow()
			word.add(c[n:], style, w-n)
		default:
			word.add(c, style, w)
		}
	})
	endWord()
	if len(line.spans) > 0 || len(rows) == 0 {
		endRow()
	}
	return rows
}

// breakAnywhere keeps every space and breaks where the width ends.
func breakAnywhere(spans []span, width int) []row {
	if r, ok := fits(spans, width); ok {
		return []row{r}
	}
	var rows []row
	var line row
	clusters(spans, width, func(c string, style Style, w int) {
		if line.width+w > width {
			rows, line = append(rows, line), row{}
		}
		line.add(c, style, w)
	})
	return append(rows, line)
}

// expandTabs replaces tabs by spaces up to the next fourth column.
func expandTabs(s string) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := 4 - column%4
			b.WriteString("    "[:n])
			column += n
		}
		b.WriteString(part)
		column += text.Width(part)
	}
	return b.String()
}

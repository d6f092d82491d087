package prose

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// mark is one of emphasis, or a link.
type mark struct {
	begin, end string
	open       bool // begin is in the line
	given      bool // a link that was written: the next block does not repeat it
}

// text adds words to the line. Space that no line may be broken at is space, for a reader.
func (w *writer) text(s string) {
	s = spaces(s)
	for i := 0; i < len(s); {
		if blank(s[i]) {
			w.space = true
			i++
			continue
		}
		end := i + 1
		for end < len(s) && !blank(s[end]) {
			end++
		}
		w.begin(s[i])
		w.word(s[i:end], end == len(s))
		i = end
	}
}

func spaces(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\f' || c == '\r' }

// begin writes what has to stand before the next word, which begins with that sign: space, and the marks that were begun.
func (w *writer) begin(next byte) {
	w.apart(next)
	for i := range w.marks {
		m := &w.marks[i]
		if m.open || m.given {
			continue
		}
		m.open = true
		if m.begin != "[" && w.goesOn(m.begin) {
			w.line = w.line[:len(w.line)-len(m.begin)]
			continue
		}
		if last := len(w.line) - 1; m.begin == "[" && last >= 0 && w.line[last] == '!' { // it is no picture
			w.line = append(w.line[:last], `\!`...)
		}
		w.line = append(w.line, m.begin...)
	}
	w.closed = 0
}

// apart writes the space before the next word. Where there is none, but the marks of emphasis would not be taken for
// such without it, there is one: beside punctuation they need it.
func (w *writer) apart(next byte) {
	at := len(w.line)
	begins := false
	for _, m := range w.marks {
		begins = begins || !m.open && !m.given && m.begin != "["
	}
	switch {
	case at == 0:
	case w.ends:
		w.line = append(w.line, "<br>"...)
	case w.line[at-1] == '\n':
	case w.space,
		begins && punctuation(next) && alnum(w.line[at-1]),
		w.closed == at && w.emphasis() && alnum(next) && !begins && punctuation(w.line[at-len(w.closer)-1]):
		w.line = append(w.line, ' ')
	}
	w.space, w.ends = false, false
}

// emphasis tells whether the mark that was closed last is one.
func (w *writer) emphasis() bool { return w.closer == "*" || w.closer == "**" || w.closer == "~~" }

// goesOn tells whether the mark that begins is the one that was closed just before it.
func (w *writer) goesOn(mark string) bool {
	return w.closed > 0 && w.closed == len(w.line) && w.closer == mark
}

// marked writes a part of the line between marks. The same mark does not stand in itself.
func (w *writer) marked(begin, end string, inner func()) {
	for _, m := range w.marks {
		if m.begin == begin {
			inner()
			return
		}
	}
	w.marks = append(w.marks, mark{begin: begin, end: end})
	inner()
	last := len(w.marks) - 1
	m := w.marks[last]
	if begin == "[" && !m.open && !m.given { // a link without words is a link all the same
		w.begin(']')
		m.open = true
	}
	if w.marks = w.marks[:last]; m.open {
		w.line = append(w.line, m.end...)
		w.closed, w.closer = len(w.line), m.begin
	}
}

// breakLine ends a line within a block; two of them end the block.
func (w *writer) breakLine() {
	switch {
	case w.cell:
		w.ends = true
	case w.one > 0:
		w.space = true
	case len(w.line) == 0:
	case w.line[len(w.line)-1] == '\n':
		w.flush()
	default:
		w.line, w.space = append(w.line, "  \n"...), false
	}
}

// flush ends a block: what is in the line is written. Marks end, and go on in the next.
func (w *writer) flush() {
	if w.one > 0 {
		w.space, w.ends = true, w.cell
		return
	}
	w.space = false
	if len(w.line) == 0 {
		return
	}
	if text := w.take(); text != "" {
		w.block(starts(text))
	}
}

// take is the line, and begins a new one.
func (w *writer) take() string {
	w.line = bytes.TrimRight(w.line, " \n")
	for i := len(w.marks) - 1; i >= 0; i-- {
		if m := &w.marks[i]; m.open {
			w.line = append(w.line, m.end...)
			m.open, m.given = false, m.begin == "["
		}
	}
	text := string(w.line)
	w.line, w.space, w.ends, w.closed = w.line[:0], false, false, 0
	return text
}

// word adds a word, with a backslash before what would be a mark.
func (w *writer) word(s string, last bool) {
	link := w.inLink()
	for i := range len(s) {
		c := s[i]
		if c < utf8.RuneSelf && strings.IndexByte("\\`*_[]<&~|", c) >= 0 {
			var before, after byte = ' ', ' '
			if len(w.line) > 0 {
				before = w.line[len(w.line)-1]
			}
			if i+1 < len(s) {
				after = s[i+1]
			} else if last {
				after = 0 // something that is not known yet
			}
			if w.escaped(c, before, after, s[i:], link) {
				w.line = append(w.line, '\\')
			}
		}
		w.line = append(w.line, c)
	}
}

func (w *writer) inLink() bool {
	for _, m := range w.marks {
		if m.open && m.begin == "[" {
			return true
		}
	}
	return false
}

// escaped tells whether a sign would be a mark where it stands.
func (w *writer) escaped(c, before, after byte, rest string, link bool) bool {
	switch c {
	case '\\':
		return after == 0 || punctuation(after)
	case '`':
		return true
	case '*':
		return !blank(before) || !blank(after)
	case '_':
		return !(before < utf8.RuneSelf && alnum(before) && alnum(after)) && !(blank(before) && blank(after))
	case '[':
		return link
	case ']':
		return link || after == '(' || after == '[' || after == ':'
	case '<':
		return after == 0 || alnum(after) && (after < '0' || after > '9') || after == '/' || after == '!' || after == '?'
	case '&':
		return reference(rest)
	case '~':
		return before == '~' || after == '~'
	case '|':
		return w.cell
	}
	return false
}

func alnum(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c >= utf8.RuneSelf
}

func punctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !alnum(c)
}

// reference tells whether a text begins like a reference of HTML.
func reference(s string) bool {
	for i := 1; i < len(s) && i < 34; i++ {
		switch c := s[i]; {
		case c == ';':
			return i > 1
		case c == '#' && i == 1:
		case c >= utf8.RuneSelf || !alnum(c):
			return false
		}
	}
	return false
}

// starts escapes what would make a line of text something else by its beginning.
func starts(text string) string {
	if !strings.Contains(text, "\n") {
		return start(text)
	}
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(start(line))
	}
	return b.String()
}

func start(line string) string {
	if line == "" {
		return line
	}
	n := 0
	switch c := line[0]; {
	case c == '#':
		n = len(line) - len(strings.TrimLeft(line, "#"))
		if n > 6 || n < len(line) && line[n] != ' ' {
			return line
		}
		n = 0
	case c == '>':
	case c == '+' || c == '-' || c == '=':
		if !(len(line) == 1 || line[1] == ' ' && c != '=') && strings.Trim(line, "-= ") != "" {
			return line
		}
	case c == '*':
		if len(line) > 1 && line[1] != ' ' {
			return line
		}
	case '0' <= c && c <= '9':
		for n < len(line) && '0' <= line[n] && line[n] <= '9' {
			n++
		}
		if n > 9 || n == len(line) || line[n] != '.' && line[n] != ')' || n+1 < len(line) && line[n+1] != ' ' {
			return line
		}
	default:
		return line
	}
	return line[:n] + `\` + line[n:]
}

package prose

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// hard is the end of a line that is one on the page too.
const hard = "  \n"

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
// A mark that was closed just before goes on.
func (w *writer) begin(next byte) {
	for i := 0; i < len(w.marks) && !w.space && !w.ends; i++ {
		if m := &w.marks[i]; !m.open && !m.given {
			if m.begin == "[" || w.last() != m.begin {
				break
			}
			m.open = true
			w.undo()
		}
	}
	w.apart(next)
	for i := range w.marks {
		m := &w.marks[i]
		if m.open || m.given {
			continue
		}
		m.open = true
		if last := len(w.line) - 1; m.begin == "[" && last >= 0 && w.line[last] == '!' { // it is no picture
			w.line = append(w.line[:last], `\!`...)
		}
		w.line = append(w.line, m.begin...)
	}
}

// apart writes the space before the next word. Where there is none, but marks would not be read as such without it,
// there is one: beside punctuation and beside each other they need it.
func (w *writer) apart(next byte) {
	begins := ""    // the mark of emphasis that begins
	inside := false // one is open
	for _, m := range w.marks {
		switch {
		case m.open || m.given:
			inside = inside || m.open && m.begin != "["
		case begins == "" && m.begin != "[":
			begins = m.begin
		case begins == "" || begins[0] != m.begin[0]:
			next = m.begin[0]
		}
	}
	switch at, last := len(w.line), w.last(); {
	case at == 0:
	case w.ends:
		w.line = append(w.line, "<br>"...)
	case w.line[at-1] == '\n':
	case w.space,
		begins != "" && (inside || punctuation(next) && alnum(w.line[at-1])),
		begins != "" && last != "" && last != begins && last[0] == begins[0],
		begins == "" && alnum(next) && (punctuation(w.enclosed()) || inside && emphasis(last)):
		w.line = append(w.line, ' ')
	}
	w.space, w.ends = false, false
}

// enclosed is the last sign within the marks of emphasis that were closed last; a letter where none were.
func (w *writer) enclosed() byte {
	if mark := w.last(); emphasis(mark) {
		if text := bytes.TrimRight(w.line, mark); len(text) > 0 {
			return text[len(text)-1]
		}
	}
	return 'a'
}

func emphasis(mark string) bool { return mark == "*" || mark == "**" || mark == "~~" }

// last is the mark that was closed just before; empty: something else was written since.
func (w *writer) last() string {
	if w.closed == 0 || w.closed != len(w.line) {
		return ""
	}
	return w.closer[len(w.closer)-1]
}

// close writes the end of a mark.
func (w *writer) close(mark, end string) {
	if w.last() == "" {
		w.closer = w.closer[:0]
	}
	w.line = append(w.line, end...)
	w.closed, w.closer = len(w.line), append(w.closer, mark)
}

// undo takes the end of the last mark back.
func (w *writer) undo() {
	last := len(w.closer) - 1
	w.line = w.line[:len(w.line)-len(w.closer[last])]
	if w.closer = w.closer[:last]; last > 0 {
		w.closed = len(w.line)
	} else {
		w.closed = 0
	}
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
		text := bytes.TrimSuffix(w.line, []byte(hard))
		ended := len(text) < len(w.line)
		w.line = text
		if w.close(m.begin, m.end); ended { // the mark ends with the line
			w.line = append(w.line, hard...)
		}
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
		w.line, w.space = append(w.line, hard...), false
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
		if c < utf8.RuneSelf && strings.IndexByte("\\`*_[]<~|", c) >= 0 {
			var before, after byte = ' ', ' '
			if len(w.line) > 0 {
				before = w.line[len(w.line)-1]
			}
			if i+1 < len(s) {
				after = s[i+1]
			} else if last {
				after = 0 // something that is not known yet
			}
			if w.escaped(c, before, after, link) {
				w.line = append(w.line, '\\')
			}
		}
		if w.line = append(w.line, c); c == ';' {
			w.unrefer()
		}
	}
}

// unrefer escapes what became a reference of HTML with its last sign.
func (w *writer) unrefer() {
	end := len(w.line) - 1
	for i := end - 1; i >= 0 && end-i < 34; i-- {
		switch c := w.line[i]; {
		case c == '&' && i < end-1:
			w.line = slices.Insert(w.line, i, '\\')
			return
		case c == '#' && i > 0 && w.line[i-1] == '&':
		case c >= utf8.RuneSelf || !alnum(c):
			return
		}
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
func (w *writer) escaped(c, before, after byte, link bool) bool {
	switch c {
	case '\\':
		return !alnum(after)
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
	case c == '[': // a definition
		end := strings.IndexByte(strings.ReplaceAll(line, `\]`, "  "), ']')
		if end < 0 || !strings.HasPrefix(line[end+1:], ":") {
			return line
		}
	case c == '>':
	case c == '+' || c == '-' || c == '=':
		if !(len(line) == 1 || line[1] == ' ' && c != '=') && strings.Trim(line, "-=|: ") != "" {
			return line
		}
	case c == '|' || c == ':': // what stands below the head of a table
		if strings.Trim(line, "-|: ") != "" {
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

package markdown

import (
	"slices"
	"strings"

	"ramet/internal/base/text"
)

// machine takes a document line by line. Its state is what is open: boxes (quotes
// and list items) and, in the innermost, at most one leaf.
type machine struct {
	width int
	theme Theme
	boxes []box
	leaf  leaf
	blank bool // an empty line came since something was shown
	begun bool // something was shown
	out   []Line
}

// deepest is how many boxes may stand in each other; what is deeper is text.
const deepest = 24

type box struct {
	quote  bool
	indent int    // an item: how far its content is indented in the source
	marker string // an item: what stands before its first line
	fresh  bool   // nothing of it was shown yet
}

type leafKind uint8

const (
	none leafKind = iota
	paragraph
	fenced
	indented
	table
)

type leaf struct {
	kind  leafKind
	lines []string // paragraph
	size  int      // bytes held back

	fence string // fenced: what it began with
	inset int    // fenced: its indentation
	lex   lexer
	empty int // indented: empty lines that may belong to it

	rows   [][]string // table: its cells, the head first
	align  []byte     // table: l, c or r for each column
	widths []int      // table: once it is too long to wait for its end
}

// feed takes one safe line. One that goes on with the line before begins no block.
func (m *machine) feed(line string, goesOn bool) {
	if goesOn {
		m.more(line)
		return
	}
	rest, depth := line, 0
	for depth < len(m.boxes) {
		inner, ok := m.boxes[depth].strip(rest)
		if !ok {
			break
		}
		if b := &m.boxes[depth]; !b.quote && strings.TrimSpace(rest) != "" {
			b.indent = min(b.indent, indentOf(rest)) // a list that is indented less than the standard asks for
		}
		rest = inner
		depth++
	}
	if m.leaf.kind == fenced {
		if depth == len(m.boxes) {
			m.fencedLine(rest)
			return
		}
		m.closeLeaf()
	}
	outer := depth
	rest, depth = m.open(rest, depth)
	opened := depth > outer
	if strings.TrimSpace(rest) == "" {
		m.emptyLine(depth, opened)
		return
	}
	m.block(rest, depth)
}

// open opens the quotes and items that begin on this line.
func (m *machine) open(rest string, depth int) (string, int) {
	for depth < deepest {
		in := indentOf(rest)
		if in >= 4 {
			break
		}
		body := expandIndent(rest)[in:]
		if strings.HasPrefix(body, ">") {
			m.closeTo(depth)
			m.boxes = append(m.boxes, box{quote: true, fresh: true})
			rest = strings.TrimPrefix(body[1:], " ")
			depth++
			continue
		}
		marker, number, after, ok := listMarker(body)
		if !ok || isRule(body) || isSetext(body) && m.leaf.kind == paragraph && depth == len(m.boxes) {
			break
		}
		content := body[len(marker):]
		interrupts := m.leaf.kind == paragraph && depth == len(m.boxes)
		if interrupts && (strings.TrimSpace(content) == "" || number != "" && number != "1") {
			break
		}
		m.closeTo(depth)
		item := box{fresh: true, indent: in + len(marker) + after, marker: m.bullet()}
		if number != "" {
			item.marker = marker + " "
		}
		m.boxes = append(m.boxes, item)
		rest = content[min(after, len(content)):]
		depth++
	}
	return rest, depth
}

func (m *machine) bullet() string {
	n := 0
	for _, b := range m.boxes {
		if !b.quote {
			n++
		}
	}
	return [...]string{"• ", "◦ ", "▪ "}[n%3]
}

func (m *machine) emptyLine(depth int, opened bool) {
	if m.leaf.kind == indented && depth == len(m.boxes) {
		m.leaf.empty++
		m.blank = true
		return
	}
	m.closeTo(depth)
	if !opened {
		m.blank = true
	}
}

// block finds out what a line is, once its boxes are taken off.
func (m *machine) block(rest string, depth int) {
	in := indentOf(rest)
	body := expandIndent(rest)[in:]
	goesOn := depth == len(m.boxes) // in the same boxes as the leaf
	if in >= 4 {
		if m.leaf.kind == paragraph {
			m.addText(body)
			return
		}
		m.indentedLine(expandIndent(rest)[4:], depth)
		return
	}
	if level, title, ok := heading(body); ok {
		m.closeTo(depth)
		m.heading(level, title)
		return
	}
	if fence, info, ok := fenceOf(body); ok {
		m.closeTo(depth)
		m.space()
		m.codeHead(info)
		m.leaf = leaf{kind: fenced, fence: fence, inset: in, lex: newLexer(info)}
		return
	}
	if m.leaf.kind == paragraph && goesOn {
		if isSetext(body) {
			m.setext(body)
			return
		}
		if m.beginTable(body) {
			return
		}
	}
	switch {
	case isRule(body):
		m.closeTo(depth)
		m.rule()
	case m.leaf.kind == table && goesOn && strings.Contains(body, "|"):
		m.tableLine(body)
	case m.leaf.kind == paragraph:
		m.addText(body) // also where its boxes are left out
	default:
		m.closeTo(depth)
		m.beginText(body)
	}
}

// more takes the rest of a line that was too long.
func (m *machine) more(line string) {
	switch m.leaf.kind {
	case fenced, indented:
		m.codeLine(line, true)
	case table:
		m.closeLeaf()
		m.beginText(line)
	case paragraph:
		m.addText(line)
	default:
		m.beginText(line)
	}
}

// closeTo ends the leaf and all boxes but the outer ones.
func (m *machine) closeTo(depth int) {
	m.closeLeaf()
	for len(m.boxes) > depth {
		last := m.boxes[len(m.boxes)-1]
		if last.fresh && !last.quote { // an item without content
			m.show(nil)
		}
		m.boxes = m.boxes[:len(m.boxes)-1]
	}
}

func (m *machine) closeLeaf() {
	switch l := m.leaf; l.kind {
	case paragraph:
		m.showText(l.lines)
	case table:
		if l.widths == nil {
			m.showTable()
		}
	}
	m.leaf = leaf{}
}

// space shows the empty line between two blocks, where the source has one.
func (m *machine) space() {
	if m.blank && m.begun {
		var prefix []span
		for _, b := range m.boxes {
			if b.fresh {
				break
			}
			if b.quote {
				prefix = append(prefix, span{"│ ", m.theme.Quote})
			} else {
				prefix = append(prefix, span{strings.Repeat(" ", text.Width(b.marker)), ""})
			}
		}
		for len(prefix) > 0 && strings.TrimSpace(prefix[len(prefix)-1].text) == "" {
			prefix = prefix[:len(prefix)-1]
		}
		if n := len(prefix); n > 0 {
			prefix[n-1].text = strings.TrimRight(prefix[n-1].text, " ")
		}
		for prefixWidth(prefix) > m.width/2 {
			prefix = prefix[:len(prefix)-1]
		}
		m.out = append(m.out, build(prefix, row{}, false))
	}
	m.blank = false
}

// room is what the boxes leave of the width.
func (m *machine) room() int {
	_, next := m.prefix()
	return m.width - prefixWidth(next)
}

// prefix is what the boxes put before the first line and before the others. At
// most half of the width is theirs.
func (m *machine) prefix() (first, next []span) {
	used := 0
	for _, b := range m.boxes {
		f, n := span{b.marker, m.theme.Bullet}, span{strings.Repeat(" ", text.Width(b.marker)), ""}
		if b.quote {
			f = span{"│ ", m.theme.Quote}
			n = f
		} else if !b.fresh {
			f = n
		}
		if used += text.Width(n.text); used > m.width/2 {
			break
		}
		first, next = append(first, f), append(next, n)
	}
	return first, next
}

func prefixWidth(prefix []span) int {
	n := 0
	for _, s := range prefix {
		n += text.Width(s.text)
	}
	return n
}

// show puts rows on the screen, behind the prefix of the boxes.
func (m *machine) show(rows []row) {
	m.space()
	m.put(rows, false)
}

func (m *machine) put(rows []row, wrapped bool) {
	first, next := m.prefix()
	if len(rows) == 0 {
		rows = []row{{}}
	}
	for i, r := range rows {
		m.out = append(m.out, build(first, r, wrapped || i > 0))
		first = next
	}
	for i := range m.boxes {
		m.boxes[i].fresh = false
	}
	m.begun = true
}

// clone is the machine with a memory of its own, to try how a text would end.
func (m machine) clone() machine {
	m.out, m.boxes = nil, slices.Clone(m.boxes)
	m.leaf.lines, m.leaf.rows = slices.Clip(m.leaf.lines), slices.Clip(m.leaf.rows)
	return m
}

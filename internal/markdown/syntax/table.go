package syntax

import "bytes"

// tabled is which line of a text is the row of dashes of a table, and the columns that it makes; 0:
// there is none.
func (r *reader) tabled(p *Node) (int, []Align) {
	if r.with&Tables == 0 {
		return 0, nil
	}
	for i := 1; i < len(p.Lines); i++ {
		line := p.Lines[i]
		if line.Pad > 3 {
			continue
		}
		if columns := dashes(r.src[line.From:line.To]); columns != nil {
			if count(r.row(p.Lines[i-1].Span, len(columns)+1)) != len(columns) {
				return 0, nil
			}
			return i, columns
		}
	}
	return 0, nil
}

// table makes a table of a paragraph: a row, a row of dashes with as many cells, further rows. What
// stands before the first row stays a paragraph.
func (r *reader) table(p *Node, at int, columns []Align) {
	t := r.node(Table, p.Lines[at-1].Span)
	t.Columns, t.end = columns, p.end
	for i, l := range p.Lines[at-1:] {
		if i != 1 {
			t.add(r.row(l.Span, len(columns)))
		}
	}
	p.Parent.put(t, p)
	if p.Lines = p.Lines[:at-1]; len(p.Lines) == 0 {
		p.drop()
	}
}

// dashes are the columns that a row of dashes makes; nil: it is none.
func dashes(line []byte) []Align {
	line = trimmed(line)
	if len(line) == 0 || line[0] != '|' && line[0] != ':' && line[0] != '-' || !bytes.ContainsAny(line, "|:") { // which underlines a heading
		return nil
	}
	line = bytes.TrimPrefix(line, []byte("|"))
	line = bytes.TrimSuffix(line, []byte("|"))
	var out []Align
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = trimmed(cell)
		bare := bytes.TrimSuffix(bytes.TrimPrefix(cell, []byte(":")), []byte(":"))
		if len(bare) == 0 || len(bytes.Trim(bare, "-")) > 0 {
			return nil
		}
		out = append(out, alignment(cell[0] == ':', cell[len(cell)-1] == ':'))
	}
	return out
}

func alignment(left, right bool) Align {
	switch {
	case left && right:
		return AlignCenter
	case left:
		return AlignLeft
	case right:
		return AlignRight
	}
	return AlignNone
}

// row is a row with at most so many cells: further ones are not shown. A bar ends a cell unless a
// backslash stands before it, in code too.
func (r *reader) row(at Span, most int) *Node {
	at = trim(r.src, at)
	n := r.node(Row, at)
	from, end := at.From, at.To
	if from < end && r.src[from] == '|' {
		from++
	}
	if end > from && r.src[end-1] == '|' {
		end--
	}
	for ; from < end && most > 0; most-- {
		to := from
		for to < end && (r.src[to] != '|' || to > at.From && r.src[to-1] == '\\') {
			to++
		}
		text := trim(r.src, Span{from, to})
		c := r.node(Cell, text)
		c.Lines = []Line{{Span: text}}
		n.add(c)
		from = to + 1
	}
	return n
}

func count(n *Node) int {
	out := 0
	for c := n.First; c != nil; c = c.Next {
		out++
	}
	return out
}

package syntax

import "strings"

// Reader reads texts of one paragraph each: emphasis, code, links and what is struck between two tildes.
// HTML is text, and so is all that would need another paragraph, such as definitions. It uses its memory
// again: what it made of a text is good until it reads the next one.
type Reader struct {
	nodes
	words  inliner
	source []byte
	lines  []Line
}

// Read reads a text.
func (r *Reader) Read(text string) *Node {
	r.again()
	r.source = append(r.source[:0], text...)
	r.lines = r.lines[:0]
	for from := 0; from < len(text); {
		to := len(text)
		if i := strings.IndexByte(text[from:], '\n'); i >= 0 {
			to = from + i
		}
		next := to + 1
		for from < to && isSpace(text[from]) {
			from++
		}
		r.lines = append(r.lines, Line{Span: Span{from, to}})
		from = next
	}
	n := r.node(Paragraph, Span{0, len(text)})
	n.Lines = r.lines
	p := &r.words
	p.nodes, p.src, p.with = &r.nodes, r.source, Strikes|Plain
	p.block(n)
	return n
}

package syntax

import "bytes"

// define takes definitions of links ("[label]: address") from the beginning of a paragraph.
func (r *reader) define(n *Node) {
	if len(n.Lines) == 0 || r.src[n.Lines[0].From] != '[' {
		return
	}
	p := &r.words
	p.src = r.src
	p.load(n.Lines)
	at, lines := 0, 0
	for at < len(p.text) && p.text[at] == '[' {
		label, to, title, end := p.definition(at)
		if end == 0 {
			break
		}
		d := r.node(Definition, p.span(at, at))
		d.Target, d.Lines, d.end = p.source(to), p.lines(title.From, title.To), n.end
		n.Parent.put(d, n.Prev)
		if key := fold(label); r.definitions[key] == nil { // of several the first counts
			if r.definitions == nil {
				r.definitions = map[string]*Node{}
			}
			r.definitions[key] = d
		}
		lines += bytes.Count(p.text[at:end], []byte("\n"))
		if at = end; at == len(p.text) {
			lines++
		}
	}
	if n.Lines = n.Lines[lines:]; len(n.Lines) > 0 {
		n.Span = Span{n.Lines[0].From, n.Lines[0].From}
	}
}

// definition is the one that begins at a place of the text: its label, where its address and its title
// stand, and where the line behind it begins; 0: there is none.
func (p *inliner) definition(at int) (label []byte, to, title Span, end int) {
	b := p.text
	label, n := p.labelAt(b[at:])
	at += n
	if n == 0 || len(trimmed(label)) == 0 || at == len(b) || b[at] != ':' {
		return nil, Span{}, Span{}, 0
	}
	at++
	at += run(b[at:], isSpace)
	to, at = p.destinationAt(at)
	if at == 0 {
		return nil, Span{}, Span{}, 0
	}
	if space := run(b[at:], isSpace); space > 0 {
		if title, behind := p.titleAt(at + space); behind > 0 {
			if end := lineEnd(b, behind); end > 0 {
				return label, to, title, end
			}
		}
	}
	return label, to, Span{}, lineEnd(b, at)
}

// lineEnd is where the next line begins, if only space stands before it; 0: something else does.
func lineEnd(b []byte, at int) int {
	at += run(b[at:], func(c byte) bool { return isSpace(c) && c != '\n' })
	switch {
	case at == len(b):
		return at
	case b[at] == '\n':
		return at + 1
	}
	return 0
}

// longestLabel of a definition, in bytes.
const longestLabel = 999

// labelAt is what stands between brackets at the beginning, and how long both are; 0: there is none.
func (m *meter) labelAt(b []byte) (label []byte, length int) {
	if len(b) == 0 || b[0] != '[' {
		return nil, 0
	}
	for i := 1; i < len(b) && i <= longestLabel+1; i++ {
		m.looked++
		switch b[i] {
		case '\\':
			i++
		case '[':
			return nil, 0
		case ']':
			return b[1:i], i + 1
		}
	}
	return nil, 0
}

// mostParentheses of an address that stand in each other.
const mostParentheses = 32

// destinationAt is the address that begins at a place of the text, and where what is behind it begins; 0:
// there is none.
func (p *inliner) destinationAt(at int) (to Span, behind int) {
	b := p.text
	if at < len(b) && b[at] == '<' {
		return p.bracketed(at + 1)
	}
	open, i := 0, at
loop:
	for ; i < len(b); i++ {
		p.looked++
		switch c := b[i]; {
		case c == '\\' && i+1 < len(b) && isMark(b[i+1]):
			i++
		case c <= ' ' || c == 0x7f:
			break loop
		case c == '(':
			if open++; open > mostParentheses {
				return Span{}, 0
			}
		case c == ')':
			if open--; open < 0 {
				break loop
			}
		}
	}
	if open > 0 || i == at {
		return Span{}, 0
	}
	return Span{at, i}, i
}

// bracketed is an address behind "<".
func (p *inliner) bracketed(at int) (to Span, behind int) {
	b := p.text
	for i := at; i < len(b); i++ {
		p.looked++
		switch c := b[i]; {
		case c == '\\' && i+1 < len(b) && isMark(b[i+1]):
			i++
		case c == '<' || c == '\n':
			return Span{}, 0
		case c == '>':
			return Span{at, i}, i + 1
		}
	}
	return Span{}, 0
}

// titleAt is the title that begins at a place of the text, and where what is behind it begins; 0: there
// is none.
func (p *inliner) titleAt(at int) (title Span, behind int) {
	b := p.text
	if at == len(b) {
		return Span{}, 0
	}
	end := b[at]
	switch end {
	case '"', '\'':
	case '(':
		end = ')'
	default:
		return Span{}, 0
	}
	for i := at + 1; i < len(b); i++ {
		p.looked++
		switch c := b[i]; {
		case c == '\\' && i+1 < len(b) && isMark(b[i+1]):
			i++
		case c == end:
			return Span{at + 1, i}, i + 1
		case c == '(' && end == ')':
			return Span{}, 0
		}
	}
	return Span{}, 0
}

package syntax

import "bytes"

// angle reads what begins with "<": an address, or HTML.
func (p *inliner) angle() {
	b := p.text[p.at:]
	if n, mail := p.markedAddress(b); n > 0 {
		a := p.node(Address, p.span(p.at+1, p.at+n-1))
		if mail {
			a.Mark = '@'
		}
		p.found(a, p.at+n)
		return
	}
	n := 0
	if p.with&Plain == 0 {
		n = p.htmlAt(b)
	}
	if n == 0 {
		p.at++
		return
	}
	h := p.node(RawHTML, p.span(p.at, p.at))
	h.Lines = p.lines(p.at, p.at+n)
	p.found(h, p.at+n)
}

// markedAddress is the length of an address between "<" and ">"; 0: there is none.
func (p *inliner) markedAddress(b []byte) (length int, mail bool) {
	end := 1
	for end < len(b) && b[end] > ' ' && b[end] != '<' && b[end] != '>' && b[end] != 0x7f {
		end++
	}
	p.looked += end
	if end == len(b) || b[end] != '>' {
		return 0, false
	}
	scheme := 1 + run(b[1:], func(c byte) bool { return isWord(c) || c == '+' || c == '.' || c == '-' })
	if scheme >= 3 && scheme <= 33 && b[scheme] == ':' && isLetter(b[1]) {
		return end + 1, false
	}
	if n := mailAt(b[1:]); n > 0 && n == end-1 {
		return end + 1, true
	}
	return 0, false
}

// htmlAt is the length of the piece of HTML that a text begins with; 0: there is none.
func (p *inliner) htmlAt(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("<!-->")):
		return len("<!-->")
	case bytes.HasPrefix(b, []byte("<!--->")):
		return len("<!--->")
	case bytes.HasPrefix(b, []byte("<!--")):
		return p.until(b, 4, atComment, "-->")
	case bytes.HasPrefix(b, []byte("<?")):
		return p.until(b, 2, atProgram, "?>")
	case bytes.HasPrefix(b, []byte("<![CDATA[")):
		return p.until(b, 9, atData, "]]>")
	case len(b) > 2 && b[1] == '!' && isLetter(b[2]):
		return p.until(b, 3, atOrder, ">")
	}
	return p.tagAt(b)
}

// until is the length of what goes on to an end. An end that is not there is looked for once.
func (p *inliner) until(b []byte, from int, e ending, end string) int {
	if p.missing[e] {
		return 0
	}
	i := bytes.Index(b[from:], []byte(end))
	if p.missing[e] = i < 0; i < 0 {
		p.looked += len(b)
		return 0
	}
	return from + i + len(end)
}

package syntax

// bracket is one that may begin a link or an image.
type bracket struct {
	node  *Node
	at    int // behind it
	marks int // how many there were before it
	image bool
	holds bool // brackets stand in it: it is no label
}

// openBracket reads "[" and "![", and references to notes.
func (p *inliner) openBracket(c byte) {
	at := p.at
	if c == '!' {
		at++
	}
	if at == len(p.text) || p.text[at] != '[' {
		p.at++
		return
	}
	if name, length := noteLabel(p.text[at:]); length > 0 {
		if note := p.notes[string(name)]; note != nil {
			note.Done = true // something refers to it
			p.at = at        // there are no images of notes
			n := p.node(NoteRef, p.span(at, at))
			n.Target = note.Target
			p.found(n, at+length)
			return
		}
	}
	p.flush(p.at)
	n := p.node(Text, p.span(p.at, at+1))
	p.parent.add(n)
	if last := len(p.brackets) - 1; last >= 0 {
		p.brackets[last].holds = true
	}
	p.brackets = append(p.brackets, bracket{node: n, at: at + 1, marks: len(p.marks), image: c == '!'})
	p.at, p.from, p.begun = at+1, at+1, true
}

// closeBracket reads "]", and the link or image that it ends.
func (p *inliner) closeBracket() {
	last := len(p.brackets) - 1
	if last < 0 {
		p.at++
		return
	}
	b := p.brackets[last]
	p.brackets = p.brackets[:last]
	alive := b.image || last >= p.dead
	p.dead = min(p.dead, last)
	var to []byte
	var title []Line
	end := 0
	if alive {
		to, title, end = p.target(b)
	}
	if end == 0 {
		p.at++
		return
	}
	p.flush(p.at)
	p.emphasize(b.marks)
	n := p.node(Link, b.node.Span)
	n.Target, n.Lines = to, title
	if b.image {
		n.Kind = Image
	} else {
		p.dead = last
	}
	n.enclose(b.node, p.parent.Last)
	b.node.drop()
	p.at, p.from, p.begun = end, end, true
}

// target is where a link leads that ends at this bracket, its title, and where what is behind it begins; 0:
// it is no link.
func (p *inliner) target(b bracket) (to []byte, title []Line, end int) {
	at := p.at + 1
	if at < len(p.text) && p.text[at] == '(' {
		if to, title, end := p.inlineTarget(at + 1); end > 0 {
			return p.source(to), p.lines(title.From, title.To), end
		}
	}
	if p.definitions == nil {
		return nil, nil, 0
	}
	label, length := p.labelAt(p.text[at:])
	if len(trimmed(label)) == 0 {
		label = p.text[b.at:p.at]
		if b.holds || len(label) > longestLabel {
			return nil, nil, 0
		}
	}
	p.looked += len(label)
	d := p.definitions[fold(label)]
	if d == nil {
		return nil, nil, 0
	}
	return d.Target, d.Lines, at + length
}

// inlineTarget reads the address and the title that follow a link's text.
func (p *inliner) inlineTarget(at int) (to, title Span, end int) {
	b := p.text
	at += run(b[at:], isSpace)
	if at == len(b) {
		return to, title, 0
	}
	if b[at] == ')' {
		return to, title, at + 1
	}
	to, at = p.destinationAt(at)
	if at == 0 {
		return to, title, 0
	}
	space := run(b[at:], isSpace)
	at += space
	if t, behind := p.titleAt(at); behind > 0 && space > 0 {
		title = t
		at = behind + run(b[behind:], isSpace)
	}
	if at == len(b) || b[at] != ')' {
		return to, title, 0
	}
	return to, title, at + 1
}

// source is a piece of one line where it stands in the source, and not in a text that is used again.
func (p *inliner) source(at Span) []byte {
	at = p.span(at.From, at.To)
	return p.src[at.From:at.To]
}

package syntax

// tick is a run of backticks.
type tick struct {
	at, length int
	next       int // the next one of the same length, 1 more than its number
}

// count finds all runs of backticks of a text, so that each is looked for once.
func (p *inliner) count() {
	p.counted = true
	for _, t := range p.ticks {
		p.ticksOf[t.length] = 0
	}
	p.ticks = p.ticks[:0]
	for i := p.at; i < len(p.text); {
		if p.text[i] != '`' {
			i++
			continue
		}
		n := run(p.text[i:], func(c byte) bool { return c == '`' })
		p.ticks = append(p.ticks, tick{at: i, length: n})
		i += n
	}
	for i := len(p.ticks) - 1; i >= 0; i-- {
		t := &p.ticks[i]
		for len(p.ticksOf) <= t.length {
			p.ticksOf = append(p.ticksOf, 0)
		}
		t.next = p.ticksOf[t.length]
		p.ticksOf[t.length] = i + 1
	}
}

// closing is where the next run of so many backticks begins, from a place on; -1: there is none.
func (p *inliner) closing(length, from int) int {
	if length >= len(p.ticksOf) {
		return -1
	}
	for p.ticksOf[length] > 0 {
		t := p.ticks[p.ticksOf[length]-1]
		if t.at >= from {
			return t.at
		}
		p.ticksOf[length] = t.next
	}
	return -1
}

// code reads code between backticks.
func (p *inliner) code() {
	if !p.counted {
		p.count()
	}
	length := run(p.text[p.at:], func(c byte) bool { return c == '`' })
	from := p.at + length
	to := p.closing(length, from)
	if to < 0 {
		p.at, p.begun = from, true
		return
	}
	n := p.node(CodeSpan, p.span(p.at, p.at))
	p.found(n, to+length)
	// One space on each side only keeps backticks apart.
	if from < to && isGap(p.text[from]) && isGap(p.text[to-1]) && run(p.text[from:to], isGap) < to-from {
		from, to = from+1, to-1
	}
	p.verbatim(n, from, to)
}

func isGap(c byte) bool { return c == ' ' || c == '\n' }

// verbatim adds texts that are meant as they stand. In tables a bar has a backslash before it, which is
// no part of the code.
func (p *inliner) verbatim(n *Node, from, to int) {
	add := func(end int) {
		if end > from {
			t := p.node(Text, p.span(from, end))
			t.Done = true
			n.add(t)
		}
	}
	for i := from; i < to; i++ {
		switch {
		case p.text[i] == '\n':
			add(i)
			n.add(p.node(Soft, p.span(i, i)))
			from = i + 1
		case p.text[i] == '\\' && i+1 < to && p.text[i+1] == '|' && p.parent.Kind == Cell:
			add(i)
			from = i + 1
		}
	}
	add(to)
}

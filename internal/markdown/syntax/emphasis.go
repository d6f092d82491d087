package syntax

// mark is a run of stars, underscores or tildes that may begin or end something.
type mark struct {
	node          *Node
	sign          byte
	left          int // of its signs
	length        int
	opens, closes bool
}

// run reads a run of marks.
func (p *inliner) run(sign byte) {
	end := p.at + run(p.text[p.at:], func(c byte) bool { return c == sign })
	length := end - p.at
	before, behind := runeBefore(p.text, p.at), runeBehind(p.text, end)
	left := !isSpaceRune(behind) && (!isMarkRune(behind) || isSpaceRune(before) || isMarkRune(before))
	right := !isSpaceRune(before) && (!isMarkRune(before) || isSpaceRune(behind) || isMarkRune(behind))
	m := mark{sign: sign, left: length, length: length, opens: left, closes: right}
	switch {
	case sign == '_':
		m.opens = left && (!right || isMarkRune(before))
		m.closes = right && (!left || isMarkRune(behind))
	case sign == '~' && (length > 2 || before == '~' || length == 1 && p.with&Plain != 0):
		m.opens, m.closes = false, false
	}
	if m.opens || m.closes {
		p.flush(p.at)
		m.node = p.node(Text, p.span(p.at, end))
		p.parent.add(m.node)
		p.marks = append(p.marks, m)
		p.from = end
	}
	p.at, p.begun = end, true
}

// emphasize makes pairs of the marks from one on, and forgets these. Marks that wait for one that ends
// them stay on a stack at the beginning of the others; failed is, for each sort of ending marks, how
// much of the stack was looked through in vain.
func (p *inliner) emphasize(bottom int) {
	var failed [18]int
	for i := range failed {
		failed[i] = bottom
	}
	top := bottom
	for i := bottom; i < len(p.marks); i++ {
		m := p.marks[i]
		for m.closes && m.left > 0 {
			sort := &failed[sortOf(m)]
			open := top - 1
			for open >= *sort && !pairs(p.marks[open], m) {
				open--
				p.looked++
			}
			if open < *sort {
				*sort = top
				break
			}
			p.enclose(&p.marks[open], &m)
			if top = open + 1; p.marks[open].left == 0 {
				top = open
			}
			for j := range failed {
				failed[j] = min(failed[j], top)
			}
		}
		if m.opens && m.left > 0 {
			p.marks[top] = m
			top++
		}
	}
	p.marks = p.marks[:bottom]
}

// sortOf is the same for marks that the same ones begin.
func sortOf(m mark) int {
	sort := m.length % 3
	if m.opens {
		sort += 3
	}
	switch m.sign {
	case '_':
		sort += 6
	case '~':
		sort += 12
	}
	return sort
}

// pairs says whether one mark begins what another ends.
func pairs(open, end mark) bool {
	if open.sign != end.sign {
		return false
	}
	return !(open.closes || end.opens) || (open.length+end.length)%3 != 0 || end.length%3 == 0
}

// enclose makes a node of what stands between two marks, and takes signs from both.
func (p *inliner) enclose(open, end *mark) {
	kind, signs := Emphasis, 1
	if open.left >= 2 && end.left >= 2 {
		kind, signs = Strong, 2
	}
	if open.sign == '~' {
		kind = Strike
	}
	open.left -= signs
	end.left -= signs
	open.node.To -= signs
	n := p.node(kind, Span{open.node.To, open.node.To})
	end.node.From += signs
	if open.node.Next == end.node {
		open.node.Parent.put(n, open.node)
	} else {
		n.enclose(open.node.Next, end.node.Prev)
	}
	if open.left == 0 {
		open.node.drop()
	}
	if end.left == 0 {
		end.node.drop()
	}
}

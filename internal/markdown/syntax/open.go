package syntax

import "bytes"

// open opens what begins on this line, behind the boxes that go on. done: the line is read.
func (r *reader) open(depth int) (inner int, done bool) {
	for {
		if r.blank() {
			return depth, false
		}
		if r.indent() >= 4 {
			if r.isText() {
				return depth, false
			}
			r.closeTo(depth)
			r.skip(4)
			r.leaf, r.empty = r.block(Code, r.next), 0
			r.addLine()
			return depth, true
		}
		// The line may go on with a text in the same boxes, or in further ones.
		direct := r.isText() && depth == len(r.boxes)
		if r.openLeaf(depth, direct) {
			return depth, true
		}
		if depth > deepest || !r.openBox(depth, direct) {
			return depth, false
		}
		depth = len(r.boxes)
	}
}

// openLeaf opens what holds no blocks, and takes the line.
func (r *reader) openLeaf(depth int, direct bool) bool {
	rest := r.rest()
	switch c := rest[0]; c {
	case '#':
		return r.heading(rest, depth)
	case '`', '~':
		return r.openFence(rest, depth)
	case '<':
		return r.openHTML(rest, depth)
	case '=', '-', '_', '*':
		if direct && r.underline(rest) {
			return true
		}
		if !isRule(rest) {
			return false
		}
		r.closeTo(depth)
		r.block(Rule, r.next)
		return true
	}
	return false
}

// openBox opens a quote, an item or a note, and takes its mark.
func (r *reader) openBox(depth int, direct bool) bool {
	rest := r.rest()
	switch c := rest[0]; {
	case c == '>':
		r.closeTo(depth)
		n := r.block(Quote, r.next)
		r.quoted()
		r.boxes = append(r.boxes, box{node: n})
		return true
	case c == '[':
		return r.with&Notes != 0 && r.openNote(rest, depth)
	}
	return r.openItem(rest, depth, direct)
}

// heading reads a heading behind number signs.
func (r *reader) heading(rest []byte, depth int) bool {
	level := run(rest, func(c byte) bool { return c == '#' })
	if level > 6 || level < len(rest) && rest[level] != ' ' && rest[level] != '\t' {
		return false
	}
	r.closeTo(depth)
	n := r.block(Heading, r.next)
	n.Level = uint8(level)
	at := trim(r.src, Span{r.next + level, r.to})
	// Signs at its end are no part of it, where a space stands before them.
	signs := at.To
	for signs > at.From && r.src[signs-1] == '#' {
		signs--
	}
	if signs == at.From || r.src[signs-1] == ' ' || r.src[signs-1] == '\t' {
		at = trim(r.src, Span{at.From, signs})
	}
	if at.From < at.To {
		n.Lines = []Line{{Span: at}}
	}
	return true
}

// underline makes a heading of the text above the line.
func (r *reader) underline(rest []byte) bool {
	c := rest[0]
	if c != '=' && c != '-' {
		return false
	}
	if signs := run(rest, func(b byte) bool { return b == c }); len(bytes.TrimRight(rest[signs:], " \t")) > 0 {
		return false
	}
	if r.define(r.leaf); len(r.leaf.Lines) == 0 {
		return false
	}
	if !r.rows {
		i, _ := r.tabled(r.leaf)
		r.rows = i > 0
	}
	if r.rows { // which has no underline
		return false
	}
	n := r.leaf
	n.Kind, n.Level, n.end = Heading, 1, r.number
	if c == '-' {
		n.Level = 2
	}
	r.leaf = nil
	return true
}

// isRule: three or more of the same sign, with spaces between them.
func isRule(rest []byte) bool {
	sign, n := rest[0], 0
	if sign == '=' {
		return false
	}
	for _, c := range rest {
		switch c {
		case sign:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

func (r *reader) openFence(rest []byte, depth int) bool {
	sign := rest[0]
	length := run(rest, func(c byte) bool { return c == sign })
	if length < 3 || sign == '`' && bytes.IndexByte(rest[length:], '`') >= 0 {
		return false
	}
	r.closeTo(depth)
	n := r.block(Fence, r.next)
	n.Target = trimmed(rest[length:])
	r.leaf, r.fence, r.mark, r.inset = n, length, sign, r.indent()
	return true
}

func (r *reader) closesFence() bool {
	rest := r.rest()
	length := run(rest, func(c byte) bool { return c == r.mark })
	return length >= r.fence && len(bytes.TrimRight(rest[length:], " \t")) == 0
}

// openItem opens an item, and the list that it is the first one of.
func (r *reader) openItem(rest []byte, depth int, direct bool) bool {
	mark, number, length := listMark(rest)
	if length == 0 {
		return false
	}
	empty := len(bytes.TrimLeft(rest[length:], " \t")) == 0
	if !empty && rest[length] != ' ' && rest[length] != '\t' {
		return false
	}
	if direct && !r.rows && (empty || length > 1 && number != 1) {
		return false // it would interrupt a text
	}
	r.closeTo(depth)
	parent, at := r.boxes[depth-1].node, r.next
	list := parent.Last
	if list == nil || list.Kind != List || list.Mark != mark {
		list = r.put(parent, r.node(List, Span{at, at}))
		list.Mark, list.Number, list.Tight = mark, int32(number), true
	}
	b := box{node: r.put(list, r.node(Item, Span{at, at})), indent: r.indent() + length + 1}
	list.end = r.number
	r.pass(length)
	if space := r.indent(); !empty && space <= 4 {
		b.indent += space - 1
		r.skip(space)
	} else {
		r.skip(1)
	}
	r.boxes = append(r.boxes, b)
	return true
}

// listMark is the mark of an item that a line begins with.
func listMark(rest []byte) (mark byte, number, length int) {
	switch c := rest[0]; {
	case c == '-' || c == '+' || c == '*':
		return c, 0, 1
	case isDigit(c):
		n := run(rest, isDigit)
		if n > 9 || n == len(rest) || rest[n] != '.' && rest[n] != ')' {
			return 0, 0, 0
		}
		for _, d := range rest[:n] {
			number = number*10 + int(d-'0')
		}
		return rest[n], number, n + 1
	}
	return 0, 0, 0
}

// openNote opens a footnote: "[^label]:" and a text, which goes on in lines that are indented. Notes
// stay where they were written; those that nothing refers to are not shown.
func (r *reader) openNote(rest []byte, depth int) bool {
	name, length := noteLabel(rest)
	if length == 0 || length == len(rest) || rest[length] != ':' || len(trimmed(name)) == 0 {
		return false
	}
	r.closeTo(depth)
	n := r.block(Note, r.next)
	n.Target = name
	if r.notes == nil {
		r.notes = map[string]*Node{}
	}
	if r.notes[string(name)] == nil { // of several the first is shown
		r.notes[string(name)] = n
	}
	r.pass(length + 1)
	r.boxes = append(r.boxes, box{node: n})
	return true
}

// noteLabel is what stands between "[^" and "]" at the start of a line, and how long all of it is.
func noteLabel(line []byte) (text []byte, length int) {
	if len(line) < 2 || line[0] != '[' || line[1] != '^' {
		return nil, 0
	}
	for i := 2; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && isMark(line[i+1]):
			i++
		case c == '[' || c == '\n':
			return nil, 0
		case c == ']':
			return line[2:i], i + 1
		}
	}
	return nil, 0
}

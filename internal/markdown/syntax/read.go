package syntax

// deepest is how many quotes, items and notes stand in each other at most.
const deepest = 100

// reader reads a text line by line. Open are boxes (quotes, items and notes) and, in the innermost,
// at most one leaf that further lines may belong to.
type reader struct {
	cursor
	nodes
	with   Features
	number int32 // of the line
	boxes  []box
	leaf   *Node

	fence  int  // of the open fence: its length
	mark   byte // of the open fence
	inset  int  // of the open fence: columns that are taken off its lines
	rows   bool // the open text is known to hold a table
	empty  int  // of the open code: empty lines that it ends with so far
	ending ending

	words       inliner
	definitions map[string]*Node
	notes       map[string]*Node
}

type box struct {
	node   *Node
	indent int // columns that belong to the mark of an item
}

// Read reads a text.
func Read(source []byte, with Features) *Node {
	root, _ := read(source, with)
	return root
}

// read tells besides how many bytes were looked at, those that were looked at again included.
func read(source []byte, with Features) (root *Node, looked int) {
	r := reader{cursor: cursor{src: source}, with: with}
	root = r.node(Document, Span{0, len(source)})
	r.boxes = []box{{node: root}}
	for at := 0; at < len(source); at = r.after {
		r.line(at)
		r.number++
		r.take()
	}
	r.closeTo(1)
	p := &r.words
	p.nodes, p.src, p.with, p.definitions, p.notes = &r.nodes, source, with, r.definitions, r.notes
	for n := root; n != nil; n = n.After(root, true) {
		switch n.Kind {
		case Paragraph, Heading, Cell:
			p.block(n)
		}
	}
	r.forget()
	return root, p.looked
}

// forget takes away the notes that nothing refers to.
func (r *reader) forget() {
	if r.notes == nil {
		return
	}
	root := r.boxes[0].node
	for n := root; n != nil; {
		next := n.After(root, true)
		if n.Kind == Note && !n.Done {
			next = n.After(root, false)
			n.drop()
		}
		n = next
	}
}

// take reads a line.
func (r *reader) take() {
	depth := r.match()
	r.words.looked += r.to - r.from + depth
	if depth == len(r.boxes) && r.goesOn() {
		return
	}
	depth, done := r.open(depth)
	if done {
		return
	}
	switch {
	case r.blank():
		r.closeTo(depth)
	case r.isText():
		// It goes on with the text, also where the marks of its boxes are left out.
		r.addText()
	default:
		r.closeTo(depth)
		r.leaf, r.rows = r.block(Paragraph, r.next), false
		r.addText()
	}
}

func (r *reader) isText() bool { return r.leaf != nil && r.leaf.Kind == Paragraph }

func (r *reader) addText() {
	r.leaf.Lines = append(r.leaf.Lines, Line{Span{r.next, r.to}, r.indent()})
	r.leaf.end = r.number
}

// match takes off the marks of the boxes that go on, and is how many these are.
func (r *reader) match() int {
	for i := 1; i < len(r.boxes); i++ {
		switch b := r.boxes[i]; b.node.Kind {
		case Quote:
			if !r.quoted() {
				return i
			}
			b.node.end = r.number
		case Item:
			if r.indent() >= b.indent && !r.blank() {
				r.skip(b.indent)
			} else if r.blank() && b.node.First != nil {
				r.skip(min(r.indent(), b.indent))
			} else {
				return i
			}
		case Note:
			if !r.blank() && r.indent() < 4 {
				return i
			}
			r.skip(min(r.indent(), 4))
		}
	}
	return len(r.boxes)
}

// quoted takes the mark of a quote.
func (r *reader) quoted() bool {
	if r.indent() > 3 || r.blank() || r.src[r.next] != '>' {
		return false
	}
	r.pass(1)
	if r.at < r.to && (r.src[r.at] == ' ' || r.src[r.at] == '\t') {
		r.skip(1)
	}
	return true
}

// goesOn gives the line to the open leaf, if it takes every line, or this one.
func (r *reader) goesOn() bool {
	if r.leaf == nil {
		return false
	}
	switch r.leaf.Kind {
	case Fence:
		if r.indent() < 4 && r.closesFence() {
			r.leaf.Done, r.leaf.end = true, r.number
			r.leaf = nil
			return true
		}
		r.skip(min(r.indent(), r.inset))
		r.addLine()
		return true
	case HTML:
		if r.blank() && r.ending == atBlank {
			r.leaf = nil
			return false
		}
		r.addHTML()
		return true
	case Code:
		if r.indent() < 4 && !r.blank() {
			r.closeLeaf()
			return false
		}
		end := r.leaf.end
		r.skip(min(r.indent(), 4))
		r.addLine()
		if r.empty++; r.blank() {
			r.leaf.end = end
		} else {
			r.empty = 0
		}
		return true
	}
	return false
}

func (r *reader) addLine() {
	r.leaf.Lines = append(r.leaf.Lines, r.left())
	r.leaf.end = r.number
}

// block puts a new block into the innermost box.
func (r *reader) block(k Kind, at int) *Node {
	return r.put(r.boxes[len(r.boxes)-1].node, r.node(k, Span{at, at}))
}

func (r *reader) put(parent, n *Node) *Node {
	n.end = r.number
	if last := parent.Last; last != nil && last.end < r.number-1 {
		// An empty line stands between parts of a list.
		switch parent.Kind {
		case List:
			parent.Tight = false
		case Item:
			parent.Parent.Tight = false
		}
	}
	parent.add(n)
	return n
}

// closeTo ends the leaf and all boxes but the outer ones.
func (r *reader) closeTo(depth int) {
	r.closeLeaf()
	for len(r.boxes) > depth {
		n := r.boxes[len(r.boxes)-1].node
		if n.Last != nil {
			n.end = max(n.end, n.Last.end)
		}
		if n.Kind == Item {
			n.Parent.end = n.end
		}
		r.boxes = r.boxes[:len(r.boxes)-1]
	}
}

func (r *reader) closeLeaf() {
	n := r.leaf
	if r.leaf = nil; n == nil {
		return
	}
	switch n.Kind {
	case Paragraph:
		r.closeText(n)
	case Code:
		n.Lines = n.Lines[:len(n.Lines)-r.empty]
	}
}

// closeText ends a paragraph: what it begins with may be definitions, and what it ends with a table.
func (r *reader) closeText(n *Node) {
	r.define(n)
	if len(n.Lines) == 0 {
		n.drop()
		return
	}
	if i, columns := r.tabled(n); i > 0 {
		r.table(n, i, columns)
	}
}

// Package syntax reads Markdown into a tree: CommonMark, with what GitHub has besides it, which are
// tables, footnotes, boxes of tasks, struck text and addresses without marks.
//
// # Promises
//
//   - Every text is read, whatever its bytes are: there is no error.
//   - The time is linear in the text, and so is the memory. What stands more than 100 quotes and
//     items deep is text, addresses of links nest 32 parentheses, and a row has only the cells that
//     were written.
//   - Nothing is copied that stands in the source: nodes point into it, and know where they begin.
//   - Nothing is done before main: no expressions, no tables.
//
// Lines end with a line feed, before which a carriage return may stand. Texts are as they are
// written: Unescape resolves backslashes and character references.
package syntax

// Kind is what a node is.
type Kind uint8

// Blocks.
const (
	Document   Kind = iota
	Paragraph       // Lines
	Heading         // Level, Lines
	Code            // indented: Lines
	Fence           // Target: what stands behind it; Lines, Done
	Quote           //
	List            // Mark, Number, Tight
	Item            //
	Table           // Columns; the first row is its head
	Row             //
	Cell            // Lines: at most one
	Rule            //
	HTML            // Lines
	Note            // Target: its label
	Definition      // Target, Lines: its title

	// What stands in lines.
	Text     // Span; Done: as it stands, without escapes
	Soft     // the end of a line
	Hard     // the end of a line that is one on the page too
	CodeSpan // of Text and Soft
	Emphasis
	Strong
	Strike
	Link    // Target, Lines: its title
	Image   // Target, Lines: its title
	Address // Span, Scheme
	RawHTML // Lines
	NoteRef // Target: its label
	Box     // Done: checked
)

// String names a kind.
func (k Kind) String() string {
	return [...]string{"Document", "Paragraph", "Heading", "Code", "Fence", "Quote", "List", "Item", "Table", "Row", "Cell", "Rule", "HTML", "Note", "Definition",
		"Text", "Soft", "Hard", "CodeSpan", "Emphasis", "Strong", "Strike", "Link", "Image", "Address", "RawHTML", "NoteRef", "Box"}[k]
}

// Span is a piece of the source.
type Span struct{ From, To int }

// Line is a line of a block, or a piece of one. Before lines of code and HTML stand Pad spaces, the rest of a
// tab. Before lines of text stood as many in the source.
type Line struct {
	Span
	Pad int
}

// Align is how the cells of a column stand.
type Align uint8

// The ways in which cells stand.
const (
	AlignNone Align = iota
	AlignLeft
	AlignCenter
	AlignRight
)

// Node is a piece of a text. Which fields say something is told where the kinds are.
type Node struct {
	Kind   Kind
	Level  uint8 // 1 to 6
	Mark   byte  // of a list: - + * . ); of an address that lacks its scheme: @ or w
	Tight  bool  // a list without empty lines between its parts
	Done   bool  // a fence: it was closed; a box: it is checked; a text: it is meant as it stands
	Number int32 // of the first item of a list, where it has numbers
	end    int32 // the number of the last line of a block
	Span         // where it begins and, where that was said, ends

	Parent, Prev, Next, First, Last *Node

	Lines   []Line
	Columns []Align
	Target  []byte // as it is written
}

// Language is the first word behind a fence.
func (n *Node) Language() []byte {
	return n.Target[:run(n.Target, func(c byte) bool { return !isSpace(c) })]
}

// Scheme is what an address lacks.
func (n *Node) Scheme() string {
	switch n.Mark {
	case '@':
		return "mailto:"
	case 'w':
		return "http://"
	}
	return ""
}

// After is the node that follows when all are visited from top to bottom; inside: those in n too.
// nil: n was the last one in root.
func (n *Node) After(root *Node, inside bool) *Node {
	if inside && n.First != nil {
		return n.First
	}
	for n != root {
		if n.Next != nil {
			return n.Next
		}
		n = n.Parent
	}
	return nil
}

// add puts a node behind the others in n.
func (n *Node) add(c *Node) {
	c.Parent, c.Prev, c.Next = n, n.Last, nil
	if n.Last != nil {
		n.Last.Next = c
	} else {
		n.First = c
	}
	n.Last = c
}

// put puts a node behind one of those in n; nil: before all.
func (n *Node) put(c, behind *Node) {
	if behind == n.Last {
		n.add(c)
		return
	}
	next := n.First
	if behind != nil {
		next = behind.Next
		behind.Next = c
	} else {
		n.First = c
	}
	c.Parent, c.Prev, c.Next = n, behind, next
	next.Prev = c
}

// drop takes a node out of the tree.
func (n *Node) drop() {
	if n.Prev != nil {
		n.Prev.Next = n.Next
	} else {
		n.Parent.First = n.Next
	}
	if n.Next != nil {
		n.Next.Prev = n.Prev
	} else {
		n.Parent.Last = n.Prev
	}
	n.Parent, n.Prev, n.Next = nil, nil, nil
}

// enclose moves what stands from first to last, neighbours, into n, which takes their place.
func (n *Node) enclose(first, last *Node) {
	parent := first.Parent
	n.Parent, n.Prev, n.Next = parent, first.Prev, last.Next
	n.First, n.Last = first, last
	if n.Prev != nil {
		n.Prev.Next = n
	} else {
		parent.First = n
	}
	if n.Next != nil {
		n.Next.Prev = n
	} else {
		parent.Last = n
	}
	first.Prev, last.Next = nil, nil
	for c := first; c != nil; c = c.Next {
		c.Parent = n
	}
}

// nodes are made many at a time.
type nodes struct {
	all  [][]Node
	used int // of those of the last batch
	last int // the batch
}

const (
	batch = 32 // nodes
	kept  = 8  // batches that are used again
)

func (s *nodes) node(k Kind, at Span) *Node {
	if s.used == batch {
		s.last, s.used = s.last+1, 0
	}
	if s.last == len(s.all) {
		s.all = append(s.all, make([]Node, batch))
	}
	n := &s.all[s.last][s.used]
	s.used++
	n.Kind, n.Span = k, at
	return n
}

// again forgets all nodes, and keeps the memory of the first.
func (s *nodes) again() {
	for _, b := range s.all[:min(len(s.all), s.last+1)] {
		clear(b)
	}
	if len(s.all) > kept {
		s.all = s.all[:kept:kept]
	}
	s.used, s.last = 0, 0
}

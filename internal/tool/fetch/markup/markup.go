// Package markup reads HTML as it is in the wild into a small tree.
//
// Promises:
//
//   - Every text is HTML: nothing is refused but what stands in one another over Deepest deep.
//   - Elements end, begin and move as browsers have it: paragraphs, items, rows and cells that nobody
//     closed, marks that cross each other, text between the cells of a table.
//   - The time and the memory grow as the text does, whatever it holds.
//   - Scripts, styles, comments and what is shown only without scripts are not in the tree, and of
//     attributes only those that are of use to a reader.
//   - Nothing runs before main.
package markup

import (
	"errors"
	"strings"
)

// Deepest is how many elements may stand in one another.
const Deepest = 512

// ErrDeep is the refusal of a page whose elements stand in one another too deep.
var ErrDeep = errors.New("its elements stand in one another too deep")

// Document is a page.
type Document struct {
	Title string // of the first title, as it was written
	Base  string // what the addresses of the page are relative to, where it says so
	Root  *Node  // the element html; its only child is body
}

// Node is an element, or a text when it has no name.
type Node struct {
	Name   string // in lower case
	Text   string
	Attr   []Attr
	Parent *Node
	First  *Node
	Last   *Node
	Next   *Node
	Prev   *Node
	trait  trait
	open   bool // for the builder: its end has not come
}

// Attr is an attribute: its key in lower case, its value without references.
type Attr struct{ Key, Value string }

// Get is the value of an attribute, and whether there is one.
func (n *Node) Get(key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// After is the node that follows in the order of the text, below root: with or without what is in this one.
func (n *Node) After(root *Node, inner bool) *Node {
	if inner && n.First != nil {
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

// Read reads a page.
func Read(text string) (*Document, error) {
	b := build(text)
	if b.deep || depth(b.doc.Root) > Deepest {
		return nil, ErrDeep
	}
	return b.doc, nil
}

// depth is counted without recursion.
func depth(root *Node) int {
	deepest, now := 0, 0
	for n := root; ; {
		deepest = max(deepest, now)
		if n.First != nil {
			n, now = n.First, now+1
			continue
		}
		for n != root && n.Next == nil {
			n, now = n.Parent, now-1
		}
		if n == root {
			return deepest
		}
		n = n.Next
	}
}

// insert puts a node before another child; before nil: at the end.
func (n *Node) insert(child, before *Node) {
	child.Parent, child.Next = n, before
	if before == nil {
		child.Prev, n.Last = n.Last, child
	} else {
		child.Prev, before.Prev = before.Prev, child
	}
	if child.Prev == nil {
		n.First = child
	} else {
		child.Prev.Next = child
	}
}

// remove takes a node from where it is.
func (n *Node) remove() {
	p := n.Parent
	if p == nil {
		return
	}
	if n.Prev == nil {
		p.First = n.Next
	} else {
		n.Prev.Next = n.Next
	}
	if n.Next == nil {
		p.Last = n.Prev
	} else {
		n.Next.Prev = n.Prev
	}
	n.Parent, n.Prev, n.Next = nil, nil, nil
}

// lower is a name in lower case; letters outside ASCII stay as they are.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					return r + 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}

package markup

import (
	"slices"
	"strings"
)

// builder makes a tree of tokens: the elements that are open, and the marks that go on.
type builder struct {
	*Scanner
	doc   *Document
	stack []*Node        // what is open, html first
	open  map[string]int // how many of each name
	marks []*Node        // formats that go on; nil is where a cell or the like began
	form  *Node
	deep  bool
}

// build reads a whole text; line ends become line feeds before.
func build(text string) *builder {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	html, body := &Node{Name: "html", trait: traitOf("html")}, &Node{Name: "body", trait: traitOf("body")}
	html.insert(body, nil)
	b := &builder{Scanner: Scan(text), doc: &Document{Root: html}, stack: []*Node{html, body}, open: map[string]int{"html": 1, "body": 1}}
	for !b.deep {
		b.foreign, b.data = b.inForeign(), b.top().trait&foreign != 0
		t, ok := b.Next()
		if !ok {
			break
		}
		switch {
		case t.Kind == Text:
			b.text(t.Text)
		case t.Kind == End:
			b.end(t.Name)
		default:
			b.start(t)
		}
	}
	return b
}

func (b *builder) top() *Node { return b.stack[len(b.stack)-1] }

// inForeign tells whether what comes belongs to a drawing or a formula.
func (b *builder) inForeign() bool {
	t := b.top().trait
	return t&foreign != 0 && t&point == 0
}

// text puts text where it belongs. Space between the rows of a table is nothing.
func (b *builder) text(s string) {
	n := &Node{Text: s}
	if !b.foreign {
		if b.top().trait&grid != 0 && strings.Trim(s, " \n\t\f") == "" {
			return
		}
		b.reopen()
	}
	b.place(n)
}

// place puts a node into the innermost element; what cannot stand there, before the table.
func (b *builder) place(n *Node) {
	parent := b.top()
	if parent.trait&grid == 0 || n.trait&(grid|cell) != 0 && n.Name != "table" {
		parent.insert(n, nil)
		return
	}
	b.foster(n)
}

// foster puts a node before the innermost table.
func (b *builder) foster(n *Node) {
	for i := len(b.stack) - 1; i > 0; i-- {
		b.looked++
		table := b.stack[i]
		if table.Name != "table" {
			continue
		}
		if table.Parent != nil {
			table.Parent.insert(n, table)
		} else {
			b.stack[i-1].insert(n, nil)
		}
		return
	}
	b.stack[1].insert(n, nil)
}

// push opens an element.
func (b *builder) push(name string, attr []Attr) *Node {
	n := &Node{Name: name, Attr: attr, trait: traitOf(name)}
	b.place(n)
	b.enter(n)
	return n
}

func (b *builder) enter(n *Node) {
	b.stack = append(b.stack, n)
	b.open[n.Name]++
	n.open = true
	b.deep = b.deep || len(b.stack) > Deepest
}

// pop closes the innermost element; html and body stay open.
func (b *builder) pop() {
	if len(b.stack) > 2 {
		b.drop(len(b.stack) - 1)
	}
}

// drop takes one from the open elements. A cell takes the marks with it that were begun in it.
func (b *builder) drop(i int) {
	n := b.stack[i]
	b.open[n.Name]--
	n.open = false
	b.stack = slices.Delete(b.stack, i, i+1)
	b.looked++
	if n.trait&cell != 0 || n.trait&scope != 0 && marker(n.Name) {
		for len(b.marks) > 0 {
			last := b.marks[len(b.marks)-1]
			b.marks = b.marks[:len(b.marks)-1]
			if last == nil {
				break
			}
		}
	}
}

// marker are the elements besides cells in which marks of outside do not go on.
func marker(name string) bool {
	return name == "applet" || name == "marquee" || name == "object" || name == "template"
}

// popTo closes elements up to the one at that place, with it.
func (b *builder) popTo(i int) {
	for len(b.stack) > i && len(b.stack) > 2 {
		b.pop()
	}
}

// find is the place of the innermost open element of that name in scope, or -1. More names may be a limit, too.
func (b *builder) find(name string, limits ...string) int {
	if b.open[name] == 0 {
		return -1
	}
	for i := len(b.stack) - 1; i > 0; i-- {
		b.looked++
		n := b.stack[i]
		if n.Name == name && n.trait&foreign == 0 {
			return i
		}
		if n.trait&scope != 0 || slices.Contains(limits, n.Name) {
			return -1
		}
	}
	return -1
}

// imply closes what need not be closed, but for one name.
func (b *builder) imply(except string) {
	for b.top().trait&implied != 0 && b.top().Name != except && len(b.stack) > 2 {
		b.pop()
	}
}

// closeP ends a paragraph, where one is open.
func (b *builder) closeP() {
	if i := b.find("p", "button"); i > 0 {
		b.popTo(i)
	}
}

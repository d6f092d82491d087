package markup

import "slices"

// mostMarks is how many formats go on behind the end of a paragraph. Each paragraph has all of them again.
const mostMarks = 12

// startMark opens a format. A link ends the one before.
func (b *builder) startMark(t Token) {
	if t.Name == "a" || t.Name == "nobr" {
		if i := b.marked(t.Name); i >= 0 {
			n := b.marks[i]
			b.endMark(t.Name)
			b.unmark(n)
			if n.open {
				b.drop(b.at(n))
			}
		}
	}
	b.reopen()
	b.mark(b.push(t.Name, t.Attr))
}

// mark remembers a format. Of those that are the same three go on, and of all the last ones.
func (b *builder) mark(n *Node) {
	same, all := 0, 0
	for i := len(b.marks) - 1; i >= 0 && b.marks[i] != nil; i-- {
		b.looked++
		if all++; b.marks[i].Name == n.Name && slices.Equal(b.marks[i].Attr, n.Attr) {
			same++
		}
		if same == 3 || all == mostMarks {
			b.marks = slices.Delete(b.marks, i, i+1)
			break
		}
	}
	b.marks = append(b.marks, n)
}

// marked is the place of the last format of that name since a cell began, or -1.
func (b *builder) marked(name string) int {
	for i := len(b.marks) - 1; i >= 0 && b.marks[i] != nil; i-- {
		b.looked++
		if b.marks[i].Name == name {
			return i
		}
	}
	return -1
}

func (b *builder) unmark(n *Node) {
	for i := len(b.marks) - 1; i >= 0 && b.marks[i] != nil; i-- {
		if b.marks[i] == n {
			b.marks = slices.Delete(b.marks, i, i+1)
			return
		}
	}
}

// at is the place of an open element, or -1.
func (b *builder) at(n *Node) int {
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		if b.stack[i] == n {
			return i
		}
	}
	return -1
}

// reopen begins the formats again that a paragraph or the like has closed.
func (b *builder) reopen() {
	from := len(b.marks)
	for from > 0 && b.marks[from-1] != nil && !b.marks[from-1].open {
		from--
	}
	for i := from; i < len(b.marks); i++ {
		b.marks[i] = b.push(b.marks[i].Name, b.marks[i].Attr)
	}
}

// endMark closes a format. Where blocks were begun in it and not ended, it goes on to their
// beginning only, and what was in them stands in it there: so browsers do.
func (b *builder) endMark(name string) {
	for range 8 {
		m := b.marked(name)
		if m < 0 {
			b.endOther(name)
			return
		}
		n := b.marks[m]
		if !n.open {
			b.unmark(n)
			return
		}
		at := b.at(n)
		block := b.blockIn(at)
		if block < 0 { // an element around which nothing is closed from within
			return
		}
		if block == 0 {
			b.popTo(at)
			b.unmark(n)
			return
		}
		b.split(at, block)
	}
}

// blockIn is the place of the first block that is open in a mark; 0: none; -1: the mark is out of reach.
func (b *builder) blockIn(at int) int {
	block := 0
	for i := len(b.stack) - 1; i > at; i-- {
		b.looked++
		if b.stack[i].trait&scope != 0 {
			return -1
		}
		if b.stack[i].trait&special != 0 {
			block = i
		}
	}
	return block
}

// split ends a mark where a block begins that is open in it: the block moves out, and its content into a new
// mark in it. Formats between them are made anew around the block, the last three of them.
func (b *builder) split(at, block int) {
	n, inner := b.stack[at], b.stack[block]
	last, bookmark := inner, -1
	for i, kept := block-1, 0; i > at; i-- {
		b.looked++
		between := b.stack[i]
		m := slices.Index(b.marks, between)
		if kept++; m < 0 || kept > 3 {
			b.unmark(between)
			b.drop(i)
			continue
		}
		again := &Node{Name: between.Name, Attr: between.Attr, trait: between.trait, open: true}
		between.open = false
		b.stack[i], b.marks[m] = again, again
		if last == inner {
			bookmark = m + 1
		}
		last.remove()
		again.insert(last, nil)
		last = again
	}
	last.remove()
	if around := b.stack[at-1]; around.trait&grid != 0 {
		b.fosterAt(at-1, last)
	} else {
		around.insert(last, nil)
	}
	again := &Node{Name: n.Name, Attr: n.Attr, trait: n.trait, open: true}
	n.open = false
	for c := inner.First; c != nil; c = inner.First {
		b.looked++
		c.remove()
		again.insert(c, nil)
	}
	inner.insert(again, nil)
	b.remark(n, again, bookmark)
	b.stack = slices.Delete(b.stack, at, at+1)
	b.stack = slices.Insert(b.stack, slices.Index(b.stack, inner)+1, again)
}

// remark puts the new mark in the place of the old one, or behind the formats that were made anew.
func (b *builder) remark(n, again *Node, bookmark int) {
	at := slices.Index(b.marks, n)
	if bookmark < 0 {
		b.marks[at] = again
		return
	}
	b.marks = slices.Insert(b.marks, min(bookmark, len(b.marks)), again)
	b.marks = slices.Delete(b.marks, at, at+1)
}

// fosterAt puts a node before the innermost table up to that place.
func (b *builder) fosterAt(i int, n *Node) {
	for ; i > 1; i-- {
		if table := b.stack[i]; table.Name == "table" && table.Parent != nil {
			table.Parent.insert(n, table)
			return
		}
	}
	b.stack[1].insert(n, nil)
}

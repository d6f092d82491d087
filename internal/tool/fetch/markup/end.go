package markup

// end closes an element, and what stands in it.
func (b *builder) end(name string) {
	if b.top().trait&foreign != 0 && b.endForeign(name) {
		return
	}
	switch tr := traitOf(name); {
	case name == "html" || name == "body":
	case name == "br":
		b.start(Token{Kind: Start, Name: name})
	case name == "p":
		if b.find("p", "button") < 0 {
			b.push("p", nil)
		}
		b.closeP()
	case name == "form":
		b.endForm()
	case tr&heading != 0:
		b.endHeading()
	case name == "li":
		b.endBlock(name, "ol", "ul")
	case name == "template":
		b.endTemplate()
	case tr&(grid|cell) != 0:
		b.endGrid(name)
	case tr&paragraph != 0, name == "dd", name == "dt", name == "button", name == "select", marker(name):
		b.endBlock(name)
	case tr&format != 0:
		b.endMark(name)
	case tr&void != 0:
	default:
		b.endOther(name)
	}
}

func (b *builder) endBlock(name string, limits ...string) {
	if i := b.find(name, limits...); i > 0 {
		b.popTo(i)
	}
}

func (b *builder) endForm() {
	n, inner := b.form, b.find("form")
	switch {
	case b.open["template"] > 0:
		b.endBlock("form")
		return
	case n == nil || inner < 0:
		b.form = nil
		return
	}
	b.form = nil
	b.imply("")
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		if b.stack[i] == n {
			b.drop(i)
			return
		}
	}
}

// endHeading: the end of any heading ends the one that is open.
func (b *builder) endHeading() {
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		n := b.stack[i]
		if n.trait&heading != 0 {
			b.popTo(i)
			return
		}
		if n.trait&scope != 0 {
			return
		}
	}
}

func (b *builder) endTemplate() {
	if b.open["template"] == 0 {
		return
	}
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		if b.stack[i].Name == "template" {
			b.popTo(i)
			return
		}
	}
}

// endOther closes an element of no special sort, unless one of a special sort stands between.
func (b *builder) endOther(name string) {
	if b.open[name] == 0 {
		return
	}
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		n := b.stack[i]
		if n.Name == name && n.trait&point == 0 {
			b.popTo(i)
			return
		}
		if n.trait&special != 0 {
			return
		}
	}
}

// endForeign closes an element of a drawing or a formula; false where none is meant.
func (b *builder) endForeign(name string) bool {
	if name == "p" || name == "br" {
		for b.inForeign() {
			b.pop()
		}
		return false
	}
	if b.open[name] == 0 {
		return true
	}
	for i := len(b.stack) - 1; i > 1; i-- {
		b.looked++
		if b.stack[i].trait&foreign == 0 {
			return false
		}
		if b.stack[i].Name == name {
			b.popTo(i)
			return true
		}
	}
	return true
}

package markup

import "strings"

// start opens an element.
func (b *builder) start(t Token) {
	if b.foreign {
		if !breaksOut(t) {
			b.startForeign(t)
			return
		}
		for b.inForeign() {
			b.pop()
		}
	}
	if b.note(t) || b.startPart(t) {
		return
	}
	tr := traitOf(t.Name)
	switch {
	case tr&heading != 0:
		b.closeP()
		if b.top().trait&heading != 0 {
			b.pop()
		}
		b.push(t.Name, t.Attr)
	case t.Name == "form":
		b.startForm(t)
	case tr&paragraph != 0:
		b.closeP()
		b.push(t.Name, t.Attr)
	case t.Name == "li", t.Name == "dd", t.Name == "dt":
		b.startItem(t)
	case t.Name == "table":
		b.closeP()
		if i := b.grid(); i > 0 && b.stack[i].trait&grid != 0 {
			b.endGrid("table")
		}
		b.push(t.Name, t.Attr)
	case tr&format != 0:
		b.startMark(t)
	case tr&void != 0:
		b.startVoid(t)
	case t.Name == "xmp", t.Name == "plaintext":
		b.closeP()
		b.push("pre", t.Attr).insert(&Node{Text: strings.ReplaceAll(t.Text, "\x00", "\uFFFD")}, nil)
		b.pop()
	default:
		b.startOther(t)
	}
}

// note takes what is for the whole page, and what is not in the tree.
func (b *builder) note(t Token) bool {
	switch t.Name {
	case "html":
		merge(b.stack[0], t.Attr)
	case "body":
		merge(b.stack[1], t.Attr)
	case "title":
		if b.doc.Title == "" {
			b.doc.Title = t.Text
		}
	case "base":
		for _, a := range t.Attr {
			if a.Key == "href" && b.doc.Base == "" {
				b.doc.Base = a.Value
			}
		}
	case "head", "meta", "link", "basefont", "bgsound", "frameset", "frame", "script", "style", "noscript", "iframe", "noembed", "textarea":
	default:
		return false
	}
	return true
}

// merge adds the attributes that an element does not have.
func merge(n *Node, attr []Attr) {
	for _, a := range attr {
		if _, ok := n.Get(a.Key); !ok {
			n.Attr = append(n.Attr, a)
		}
	}
}

func (b *builder) startForeign(t Token) {
	n := &Node{Name: t.Name, Attr: t.Attr, trait: foreignTrait(t.Name, b.top().trait)}
	b.top().insert(n, nil)
	if !t.Closed {
		b.enter(n)
	}
}

// startForm: forms do not stand in one another, and one between the rows of a table holds nothing.
func (b *builder) startForm(t Token) {
	switch i := b.grid(); {
	case b.open["template"] > 0: // it is not of this page
		b.closeP()
		b.push(t.Name, t.Attr)
	case b.form != nil:
	case i > 0 && b.stack[i].trait&grid != 0:
		b.form = &Node{Name: "form"}
	default:
		b.closeP()
		b.form = b.push(t.Name, t.Attr)
	}
}

// startItem ends the item before.
func (b *builder) startItem(t Token) {
	same := func(name string) bool { return name == t.Name || t.Name != "li" && (name == "dd" || name == "dt") }
	if b.open["li"]+b.open["dd"]+b.open["dt"] > 0 {
		for i := len(b.stack) - 1; i > 1; i-- {
			b.looked++
			n := b.stack[i]
			if same(n.Name) {
				b.popTo(i)
				break
			}
			if n.trait&special != 0 && n.Name != "address" && n.Name != "div" && n.Name != "p" {
				break
			}
		}
	}
	b.closeP()
	b.push(t.Name, t.Attr)
}

func (b *builder) startVoid(t Token) {
	switch t.Name {
	case "hr":
		if b.closeP(); b.find("select") > 0 {
			b.imply("")
		}
	case "input":
		if i := b.find("select"); i > 0 {
			b.popTo(i)
		}
		b.reopen()
		return
	case "param", "source", "track":
		return // nothing to read
	default:
		b.reopen()
	}
	b.place(&Node{Name: t.Name, Attr: t.Attr, trait: traitOf(t.Name)})
}

func (b *builder) startOther(t Token) {
	switch t.Name {
	case "image":
		t.Name = "img"
		b.startVoid(t)
		return
	case "button", "select":
		if i := b.find(t.Name); i > 0 {
			if b.popTo(i); t.Name == "select" { // it was meant as an end
				return
			}
		}
	case "option", "optgroup":
		b.startOption(t.Name)
	case "rb", "rtc", "rp", "rt":
		b.startRuby(t)
		return
	}
	b.reopen()
	n := b.push(t.Name, t.Attr)
	switch {
	case t.Name == "svg" || t.Name == "math":
		if n.trait = foreign; t.Name == "math" {
			n.trait |= formula
		}
		if t.Closed {
			b.pop()
		}
	case marker(t.Name):
		b.marks = append(b.marks, nil)
	}
}

// startOption ends the one before.
func (b *builder) startOption(name string) {
	switch {
	case b.find("select") > 0 && name == "option":
		b.imply("optgroup")
	case b.find("select") > 0:
		b.imply("")
	case b.top().Name == "option":
		b.pop()
	}
}

// startRuby opens what stands over or beside signs.
func (b *builder) startRuby(t Token) {
	if b.find("ruby") > 0 {
		except := ""
		if t.Name == "rp" || t.Name == "rt" {
			except = "rtc"
		}
		b.imply(except)
	}
	b.push(t.Name, t.Attr)
}

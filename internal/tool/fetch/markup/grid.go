package markup

// grid is the place of the innermost part of a table that is open, or 0.
func (b *builder) grid() int {
	if b.open["table"] == 0 {
		return 0
	}
	for i := len(b.stack) - 1; i > 0; i-- {
		b.looked++
		n := b.stack[i]
		if n.trait&(grid|cell) != 0 {
			return i
		}
		if n.Name == "template" {
			return 0
		}
	}
	return 0
}

// part is the place of the innermost open element of those names within the innermost table, or 0.
func (b *builder) part(names ...string) int {
	if b.open["table"] == 0 {
		return 0
	}
	for i := len(b.stack) - 1; i > 0; i-- {
		b.looked++
		n := b.stack[i]
		for _, name := range names {
			if n.Name == name && n.trait&(grid|cell) != 0 {
				return i
			}
		}
		if n.Name == "table" || n.Name == "template" {
			return 0
		}
	}
	return 0
}

// startPart opens a part of a table, and what has to stand around it. Outside of tables there is none.
func (b *builder) startPart(t Token) bool {
	var around []string
	switch t.Name {
	case "caption", "tbody", "thead", "tfoot", "col", "colgroup":
		around = []string{"table"}
	case "tr":
		around = []string{"tbody", "thead", "tfoot", "table"}
	case "td", "th":
		around = []string{"tr", "tbody", "thead", "tfoot", "table"}
	default:
		return false
	}
	i := b.part(around...)
	if i == 0 {
		return true
	}
	if b.popTo(i + 1); t.Name == "col" || t.Name == "colgroup" {
		return true // nothing to read
	}
	if len(around) > 1 && b.top().Name == "table" {
		b.push("tbody", nil)
	}
	if len(around) > 4 && b.top().Name != "tr" {
		b.push("tr", nil)
	}
	if n := b.push(t.Name, t.Attr); n.trait&cell != 0 {
		b.marks = append(b.marks, nil)
	}
	return true
}

// endGrid closes a table or a part of it.
func (b *builder) endGrid(name string) {
	if i := b.part(name); i > 0 {
		b.popTo(i)
	}
}

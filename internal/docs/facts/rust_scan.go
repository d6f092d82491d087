package facts

import (
	"slices"
	"strings"

	"ramet/internal/docs"
)

// rsItem is an item of a module.
type rsItem struct {
	kind      docs.Kind
	word      string // fn, struct, enum, trait, mod, impl …
	name      string
	public    bool
	signature string
	doc       []string
	attrs     []string
	from, to  int // offsets
	fields    []rsField
	items     []*rsItem // of a mod, trait or impl
	inline    bool      // a mod with its body here
	use       []rsUse
	target    string // type of an impl
	trait     bool   // impl of a trait
	inner     []string
	s         *source
}

// rsField is a field of a struct, or a variant of an enum.
type rsField struct {
	name     string
	typ      string
	public   bool
	doc      []string
	attrs    []string
	fields   []rsField
	from, to int
}

// rsUse is one name of a use declaration.
type rsUse struct {
	path []string
	as   string // or *
}

// scanRust finds the items of a file and its inner docs.
func scanRust(text string) ([]*rsItem, []string) {
	c := lexRust(text)
	if c == nil {
		return nil, nil
	}
	return c.items(0, len(c.toks), 0)
}

// items reads those between two tokens.
func (c *rsCode) items(i, end, depth int) (out []*rsItem, inner []string) {
	if depth > 16 {
		return nil, nil
	}
	var doc, attrs []string
	start := -1
	for i < end {
		t := c.toks[i]
		if start < 0 && t.kind != 'i' {
			start = t.from
		}
		switch {
		case t.kind == 'i':
			inner = append(inner, rsDocLine(t.text))
			i++
			continue
		case t.kind == 'd':
			doc = append(doc, rsDocLine(t.text))
			i++
			continue
		case c.is(i, "#") && c.is(i+1, "!") && c.is(i+2, "["):
			i = c.match[i+2] + 1
			start = -1
			continue
		case c.is(i, "#") && c.is(i+1, "["):
			attrs = append(attrs, c.spell(i+2, c.match[i+1]))
			if c.is(i+2, "doc") && c.is(i+3, "=") && c.toks[i+4].kind == 's' {
				doc = append(doc, rsString(c.toks[i+4]))
			}
			i = c.match[i+1] + 1
			continue
		}
		it, next := c.item(i, end, depth)
		if it != nil {
			it.doc, it.attrs, it.from = doc, attrs, start
			if !slices.ContainsFunc(attrs, hidesRust) {
				out = append(out, it)
			}
		}
		i = max(next, i+1)
		doc, attrs, start = nil, nil, -1
	}
	return out, inner
}

// hidesRust says whether an attribute takes an item away from users.
func hidesRust(a string) bool {
	a = strings.ReplaceAll(a, " ", "")
	return a == "cfg(test)" || strings.HasPrefix(a, "cfg(all(test") || a == "test" || a == "doc(hidden)"
}

// item reads one item and gives the index behind it.
func (c *rsCode) item(i, end, depth int) (*rsItem, int) {
	begin := i
	it := &rsItem{}
	if c.is(i, "pub") {
		i++
		it.public = true
		if c.is(i, "(") {
			it.public = false
			i = c.match[i] + 1
		}
	}
	for c.is(i, "unsafe") || c.is(i, "async") || c.is(i, "default") || c.is(i, "auto") || c.is(i, "const") && (c.is(i+1, "fn") || c.is(i+1, "unsafe") || c.is(i+1, "async") || c.is(i+1, "extern")) || c.is(i, "extern") && !c.is(i+1, "crate") && !c.is(i+1, "{") && !c.is(i+2, "{") {
		i++
		if i < end && c.toks[i].kind == 's' {
			i++
		}
	}
	it.word = c.name(i)
	// stop is the body or the end of the declaration.
	stop := i
	for stop < end && !c.is(stop, ";") && !c.is(stop, "{") {
		if c.is(stop, "=") && it.word != "fn" && it.word != "impl" && it.word != "struct" {
			break
		}
		stop = max(stop, c.match[stop]) + 1
	}
	next := stop + 1
	if c.is(stop, "{") {
		next = c.match[stop] + 1
	} else if c.is(stop, "=") {
		next = c.until(stop, end, ";") + 1
	}
	if stop >= end || stop == 0 {
		return nil, end
	}
	it.to = c.toks[stop-1].to
	switch it.word {
	case "fn":
		it.kind, it.name, it.signature = docs.Function, c.name(i+1), c.spell(begin, stop)
	case "struct", "union", "enum":
		it.kind, it.name = docs.Type, c.name(i+1)
		c.body(it, begin, i+1, stop)
		if c.is(stop, "{") {
			it.to = c.toks[c.match[stop]].to
		}
	case "trait":
		it.kind, it.name, it.signature = docs.Type, c.name(i+1), c.spell(begin, stop)
		if c.is(stop, "{") {
			it.items, _ = c.items(stop+1, c.match[stop], depth+1)
		}
	case "type":
		it.kind, it.name, it.signature = docs.Type, c.name(i+1), oneLine(c.spell(begin, next-1), 500)
		it.to = c.toks[min(next, end)-1].to
	case "const", "static":
		it.kind, it.name = docs.Value, c.name(i+1)
		if c.is(i+1, "mut") {
			it.name = c.name(i + 2)
		}
		it.signature = c.spell(begin, min(next-1, end))
		if len(it.signature) > 200 {
			it.signature = c.spell(begin, stop)
		}
		it.to = c.toks[min(next, end)-1].to
	case "mod":
		it.kind, it.name = docs.Module, c.name(i+1)
		if c.is(stop, "{") {
			it.inline = true
			it.items, it.inner = c.items(stop+1, c.match[stop], depth+1)
		}
	case "impl":
		c.impl(it, i, stop)
		if c.is(stop, "{") {
			it.items, _ = c.items(stop+1, c.match[stop], depth+1)
		}
	case "use":
		semi := c.until(i, end, ";")
		it.use = c.uses(i+1, semi, nil, 0)
		return it, semi + 1
	case "macro_rules":
		if c.is(i+1, "!") && c.name(i+2) != "" {
			it.kind, it.name = docs.Function, c.name(i+2)
			it.signature = "macro_rules! " + it.name
			if c.is(stop, "{") {
				it.signature = c.macro(it.name, stop)
			}
			return it, next
		}
		return nil, next
	default:
		return nil, next
	}
	if it.name == "" && it.word != "impl" {
		return nil, next
	}
	return it, next
}

func (c *rsCode) until(i, end int, mark string) int {
	for i < end && !c.is(i, mark) {
		i = max(i, c.match[i]) + 1
	}
	return min(i, end)
}

// macro shows how a macro is called: the patterns of its rules.
func (c *rsCode) macro(name string, open int) string {
	out := "macro_rules! " + name + " {"
	for i := open + 1; i < c.match[open]; {
		if c.match[i] > i && c.is(c.match[i]+1, "=>") {
			out += "\n    " + oneLine(c.spell(i, c.match[i]+1), 200) + " => { … };"
			i = max(c.match[i]+2, c.match[min(c.match[i]+2, len(c.match)-1)]) + 1
			continue
		}
		i++
	}
	return out + "\n}"
}

// impl reads the type of an impl block: the last name before generics.
func (c *rsCode) impl(it *rsItem, i, stop int) {
	angle := 0
	last, after := "", false
	for k := i + 1; k < stop; k++ {
		switch {
		case c.is(k, "<"):
			angle++
		case c.is(k, ">"):
			angle--
		case angle > 0:
		case c.is(k, "for"):
			it.trait, after, last = true, true, ""
		case c.is(k, "where"):
			k = stop
		case c.name(k) != "" && !c.is(k, "dyn") && !c.is(k, "mut"):
			last = c.name(k)
		}
	}
	_ = after
	it.target = last
}

// uses takes a tree of names apart.
func (c *rsCode) uses(i, end int, prefix []string, depth int) []rsUse {
	var out []rsUse
	path := slices.Clone(prefix)
	for ; i < end && depth < 8; i++ {
		switch {
		case c.is(i, "{"):
			for from := i + 1; from < c.match[i]; {
				to := c.until(from, c.match[i], ",")
				out = append(out, c.uses(from, to, path, depth+1)...)
				from = to + 1
			}
			return out
		case c.is(i, "*"):
			return append(out, rsUse{path, "*"})
		case c.is(i, "as"):
			return append(out, rsUse{path, c.name(i + 1)})
		case c.name(i) != "":
			path = append(path, c.name(i))
		}
	}
	if len(path) == 0 || depth >= 8 {
		return out
	}
	if last := path[len(path)-1]; last == "self" {
		path = path[:len(path)-1]
		if len(path) == 0 {
			return out
		}
		return append(out, rsUse{path, path[len(path)-1]})
	}
	return append(out, rsUse{path, path[len(path)-1]})
}

// body reads fields or variants and spells the type with those that users see.
func (c *rsCode) body(it *rsItem, begin, name, stop int) {
	open := stop
	if !c.is(stop, "{") {
		open = name
		for open < stop && !c.is(open, "(") {
			open++
		}
		if open == stop || it.word == "enum" {
			it.signature = c.spell(begin, stop)
			return
		}
	}
	it.fields = c.fields(open, it.word == "enum", 0)
	if c.is(open, "(") {
		it.signature = c.tuple(begin, open, stop, it.fields)
		return
	}
	lines := []string{c.spell(begin, open) + " {"}
	hidden := false
	for _, f := range it.fields {
		if it.word != "enum" && !f.public {
			hidden = true
			continue
		}
		for _, d := range f.doc {
			for line := range strings.SplitSeq(d, "\n") {
				lines = append(lines, strings.TrimRight("    /// "+line, " "))
			}
		}
		lines = append(lines, "    "+f.typ+",")
	}
	if hidden {
		lines = append(lines, "    // some fields are private")
	}
	it.signature = strings.Join(append(lines, "}"), "\n")
	if len(it.signature) > signatureLimit {
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "    ///") })
		it.signature = strings.Join(append(lines, "}"), "\n")
	}
}

// tuple spells struct X(pub A, _).
func (c *rsCode) tuple(begin, open, stop int, fields []rsField) string {
	var parts []string
	for _, f := range fields {
		if f.public {
			parts = append(parts, f.typ)
		} else {
			parts = append(parts, "_")
		}
	}
	return c.spell(begin, open) + "(" + strings.Join(parts, ", ") + ")" + c.spell(c.match[open]+1, stop)
}

// fields reads what stands between braces or parentheses; typ is the whole declaration.
func (c *rsCode) fields(open int, variants bool, depth int) []rsField {
	var out []rsField
	end := c.match[open]
	for i := open + 1; i < end; {
		var f rsField
		f.from = c.toks[i].from
		for i < end {
			if c.toks[i].kind == 'd' {
				f.doc = append(f.doc, rsDocLine(c.toks[i].text))
				i++
			} else if c.is(i, "#") && c.is(i+1, "[") {
				f.attrs = append(f.attrs, c.spell(i+2, c.match[i+1]))
				i = c.match[i+1] + 1
			} else {
				break
			}
		}
		begin := i
		if c.is(i, "pub") {
			f.public = true
			i++
			if c.is(i, "(") {
				f.public = false
				i = c.match[i] + 1
			}
		}
		f.name = c.name(i)
		angle := 0
		for i < end && (angle > 0 || !c.is(i, ",")) {
			switch {
			case c.is(i, "<"):
				angle++
			case c.is(i, ">"):
				angle--
			case variants && depth == 0 && (c.is(i, "{") || c.is(i, "(")):
				f.fields = c.fields(i, false, depth+1)
			}
			i = max(i, c.match[i]) + 1
		}
		if i > begin && i-1 < len(c.toks) {
			f.typ, f.to = c.spell(begin, min(i, end)), c.toks[min(i, end)-1].to
			out = append(out, f)
		}
		i++
	}
	return out
}

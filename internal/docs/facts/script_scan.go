package facts

import (
	"slices"
	"strings"

	"ramet/internal/docs"
)

// headTokens is how far the head of a type can reach; what is longer was not written by hand.
const headTokens = 1000

// jsDecl is a declaration.
type jsDecl struct {
	kind      docs.Kind
	name      string
	signature string
	doc       string
	from, to  int // offsets
	members   []jsDecl
}

// jsExport is a name that a module gives away.
type jsExport struct {
	name  string // * for all
	local string // name in this module, or in the other
	from  string // the other module
	decl  *jsDecl
}

// jsModule is what one file declares and exports.
type jsModule struct {
	decls   map[string][]*jsDecl // overloads have several
	exports []jsExport
	imports map[string]jsExport // by local name: name in the other module
	doc     string
	docSpan span
}

// scanScript finds declarations and exports at the top of a module.
func scanScript(text string) *jsModule {
	c := lexScript(text)
	if c == nil {
		return nil
	}
	m := &jsModule{decls: map[string][]*jsDecl{}, imports: map[string]jsExport{}}
	m.fileDoc(c)
	for i := 0; i < len(c.toks); {
		t := c.toks[i]
		starts := t.first || i == 0 || c.is(i-1, ";") || c.is(i-1, "}")
		next := 0
		switch {
		case !starts || t.kind != 'n':
		case t.text == "export":
			next = m.export(c, i)
		case t.text == "import" && !c.is(i+1, "("):
			next = m.importing(c, i)
		case m.required(c, i):
		case t.text == "module" && c.is(i+1, ".") && c.is(i+2, "exports"), t.text == "exports" && c.is(i+1, "."):
			next = m.common(c, i)
		default:
			if d, end := c.declaration(i, t.doc, t.from); d != nil {
				m.add(d)
				next = end
			}
		}
		if next > i {
			i = next
		} else if c.match[i] > i {
			i = c.match[i] + 1
		} else {
			i++
		}
	}
	return m
}

func (m *jsModule) add(d *jsDecl) {
	if d.name != "" && len(m.decls[d.name]) < 8 {
		m.decls[d.name] = append(m.decls[d.name], d)
	}
}

// fileDoc takes a first comment that is about the file.
func (m *jsModule) fileDoc(c *jsCode) {
	if len(c.toks) == 0 {
		return
	}
	head := c.text[:c.toks[0].from]
	at := strings.Index(head, "/**")
	if at < 0 {
		return
	}
	end := strings.Index(head[at:], "*/")
	if end < 0 {
		return
	}
	comment := head[at : at+end+2]
	for _, tag := range []string{"@module", "@file", "@fileoverview", "@packageDocumentation"} {
		if strings.Contains(comment, tag) {
			m.doc, m.docSpan = jsDoc(comment), span{at, at + len(comment)}
		}
	}
}

// export reads one export statement and gives the index behind it.
func (m *jsModule) export(c *jsCode, i int) int {
	doc, from := c.toks[i].doc, c.toks[i].from
	j := i + 1
	if c.is(j, "type") && (c.is(j+1, "{") || c.is(j+1, "*")) {
		j++
	}
	source := func(k int) (string, int) { // … from "x"
		if c.is(k, "from") {
			s, _ := c.str(k + 1)
			return s, k + 2
		}
		return "", k
	}
	switch {
	case c.is(j, "*"):
		name := "*"
		if c.is(j+1, "as") {
			name = c.name(j + 2)
			j += 2
		}
		mod, end := source(j + 1)
		if name == "*" {
			m.exports = append(m.exports, jsExport{name: "*", from: mod})
		}
		return end
	case c.is(j, "{"):
		mod, end := source(c.match[j] + 1)
		for k := j + 1; k < c.match[j]; k++ {
			if c.is(k, "type") && c.name(k+1) != "" {
				continue
			}
			local := c.name(k)
			if local == "" {
				continue
			}
			name := local
			if c.is(k+1, "as") {
				name = c.name(k + 2)
				k += 2
			}
			m.exports = append(m.exports, jsExport{name: name, local: local, from: mod})
		}
		return end
	case c.is(j, "default"):
		if d, end := c.declaration(j+1, doc, from); d != nil {
			if d.name == "" {
				d.name = "default"
			}
			m.exports = append(m.exports, jsExport{name: "default", decl: d})
			return end
		}
		m.exports = append(m.exports, jsExport{name: "default", local: c.name(j + 1)})
		return j + 1
	case c.is(j, "="):
		m.exports = append(m.exports, jsExport{name: "default", local: c.name(j + 1)})
		return j + 2
	}
	if d, end := c.declaration(j, doc, from); d != nil {
		m.add(d)
		m.exports = append(m.exports, jsExport{name: d.name, decl: d})
		return end
	}
	return j
}

// importing keeps which names come from where: they can be exported again.
func (m *jsModule) importing(c *jsCode, i int) int {
	end := i + 1
	for end < min(len(c.toks), i+headTokens) && !c.is(end, "from") && c.toks[end].kind != 's' {
		end++
	}
	if !c.is(end, "from") {
		return end
	}
	mod, _ := c.str(end + 1)
	for k := i + 1; k < end; k++ {
		switch {
		case c.is(k, "{"):
			m.bindings(c, k, mod, "as")
			k = c.match[k]
		case c.is(k, "*"):
			k += 2 // a whole module is no name of ours
		case c.is(k, "type") && !c.is(k+1, "from"), c.is(k, ","):
		case c.name(k) != "":
			m.imports[c.name(k)] = jsExport{name: "default", from: mod}
		}
	}
	return end + 2
}

// bindings reads { a, b as c } or { a, b: c } of an import.
func (m *jsModule) bindings(c *jsCode, open int, mod, word string) {
	for k := open + 1; k < c.match[open]; k++ {
		name := c.name(k)
		if name == "" || c.is(k, "type") && c.name(k+1) != "" {
			continue
		}
		local := name
		if c.is(k+1, word) {
			local = c.name(k + 2)
			k += 2
		}
		m.imports[local] = jsExport{name: name, from: mod}
	}
}

// required keeps const a = require('./a') and const { a } = require('./a').
func (m *jsModule) required(c *jsCode, i int) bool {
	if !c.is(i, "const") && !c.is(i, "var") && !c.is(i, "let") {
		return false
	}
	at := i + 2
	if c.is(i+1, "{") {
		at = c.match[i+1] + 1
	}
	if !c.is(at, "=") || !c.is(at+1, "require") || !c.is(at+2, "(") {
		return false
	}
	mod, _ := c.str(at + 3)
	switch after := c.match[at+2] + 1; {
	case c.is(i+1, "{"):
		m.bindings(c, i+1, mod, ":")
	case c.is(after, "."):
		m.imports[c.name(i+1)] = jsExport{name: c.name(after + 1), from: mod}
	default:
		m.imports[c.name(i+1)] = jsExport{name: "default", from: mod}
	}
	return true
}

// common reads an assignment to module.exports or exports.name.
func (m *jsModule) common(c *jsCode, i int) int {
	doc, from := c.toks[i].doc, c.toks[i].from
	j := i + 1
	name := "default"
	if c.is(i, "module") {
		j = i + 3
	}
	if c.is(j, ".") {
		name = c.name(j + 1)
		j += 2
	}
	if !c.is(j, "=") || name == "" || name == "__esModule" {
		return j
	}
	j++
	for c.name(j) == "exports" && c.is(j+1, "=") || c.name(j) == "module" && c.is(j+2, "exports") && c.is(j+3, "=") {
		j += 2
		if c.is(j, "exports") {
			j += 2
		}
	}
	switch {
	case c.is(j, "require") && c.is(j+1, "("):
		mod, _ := c.str(j + 2)
		end := c.match[j+1] + 1
		switch {
		case c.is(end, "."):
			m.exports = append(m.exports, jsExport{name: name, local: c.name(end + 1), from: mod})
		case name == "default":
			m.exports = append(m.exports, jsExport{name: "*", from: mod})
		}
		return end
	case c.is(j, "{"):
		if name == "default" {
			m.object(c, j)
		}
		return c.match[j] + 1
	}
	if d, end := c.declaration(j, doc, from); d != nil {
		if d.name == "" || name != "default" {
			d.name = name
		}
		if rest, ok := strings.CutPrefix(d.signature, "function ("); ok && name != "default" {
			d.signature = "function " + name + "(" + rest
		}
		m.exports = append(m.exports, jsExport{name: name, decl: d})
		return end
	}
	if d, end := c.arrow(j, name, doc, from); d != nil {
		m.exports = append(m.exports, jsExport{name: name, decl: d})
		return end
	}
	if local := c.name(j); local != "" && !c.is(j+1, "(") && !c.is(j+1, ".") {
		m.exports = append(m.exports, jsExport{name: name, local: local})
	}
	return j
}

// object reads module.exports = { a, b: c, d() {} }.
func (m *jsModule) object(c *jsCode, open int) {
	for k := open + 1; k < c.match[open]; {
		t := c.toks[k]
		key := c.name(k)
		switch {
		case key == "":
		case c.is(k+1, ",") || k+1 == c.match[open]:
			m.exports = append(m.exports, jsExport{name: key, local: key})
		case c.is(k+1, ":") && c.name(k+2) != "" && (c.is(k+3, ",") || k+3 == c.match[open]):
			m.exports = append(m.exports, jsExport{name: key, local: c.name(k + 2)})
		case c.is(k+1, ":") && c.is(k+2, "require") && c.is(k+3, "("):
			// a module as a member: its names are not ours
		case c.is(k+1, ":"):
			d, _ := c.declaration(k+2, t.doc, t.from)
			if d == nil {
				d, _ = c.arrow(k+2, key, t.doc, t.from)
			}
			if d != nil {
				d.name = key
				m.exports = append(m.exports, jsExport{name: key, decl: d})
			}
		case c.is(k+1, "("):
			close := c.match[k+1]
			m.exports = append(m.exports, jsExport{name: key, decl: &jsDecl{kind: docs.Function, name: key, signature: c.spell(k, close+1),
				doc: c.doc(t.doc), from: c.start(t.doc, t.from), to: c.toks[close].to}})
		}
		for k < c.match[open] && !c.is(k, ",") { // to the next member
			k = max(k, c.match[k]) + 1
		}
		k++
	}
}

func (c *jsCode) doc(s span) string {
	if s.to == 0 {
		return ""
	}
	return jsDoc(c.text[s.from:s.to])
}

func (c *jsCode) start(doc span, from int) int {
	if doc.to > 0 {
		return doc.from
	}
	return from
}

// declaration reads a function, class, variable or type at i. Nil where there is none.
func (c *jsCode) declaration(i int, doc span, from int) (*jsDecl, int) {
	begin := i
	for c.is(i, "declare") || c.is(i, "abstract") || c.is(i, "async") && c.is(i+1, "function") {
		i++
	}
	d := &jsDecl{from: c.start(doc, from)}
	switch c.name(i) {
	case "function":
		i++
		if c.is(i, "*") {
			i++
		}
		d.kind, d.name = docs.Function, ""
		if !c.is(i, "(") {
			d.name = c.name(i)
		}
		end, next := c.headEnd(i)
		if end < 0 {
			return nil, 0
		}
		d.signature, d.to = c.spell(begin, end), c.toks[end-1].to
		d.doc = c.doc(doc)
		return d, next
	case "class":
		return c.class(d, begin, i, doc)
	case "interface", "enum", "namespace":
		d.name = c.name(i + 1)
		open := i + 1
		for open < min(len(c.toks), i+headTokens) && !c.is(open, "{") && !c.is(open, ";") && !c.is(open, "=") {
			open++
		}
		if d.name == "" || !c.is(open, "{") {
			return nil, 0
		}
		return c.whole(d, begin, c.match[open], doc)
	case "type":
		d.name = c.name(i + 1)
		if d.name == "" || !c.is(i+2, "=") && !c.is(i+2, "<") {
			return nil, 0
		}
		return c.whole(d, begin, c.statementEnd(i+2)-1, doc)
	case "const", "let", "var":
		if c.is(i+1, "enum") {
			d.name = c.name(i + 2)
			if d.name != "" && c.is(i+3, "{") {
				return c.whole(d, begin, c.match[i+3], doc)
			}
			return nil, 0
		}
		return c.variable(d, begin, i, doc)
	}
	return nil, 0
}

// whole takes a type with its body, as it is written.
func (c *jsCode) whole(d *jsDecl, begin, last int, doc span) (*jsDecl, int) {
	if last < begin || last >= len(c.toks) {
		return nil, 0
	}
	d.kind, d.doc = docs.Type, c.doc(doc)
	d.to = c.toks[last].to
	d.signature = unindent(c.text[c.toks[begin].from:d.to])
	return d, last + 1
}

// headEnd finds the end of a function's head from its name or parameters, and where to go on.
func (c *jsCode) headEnd(i int) (end, next int) {
	for n := 0; i < len(c.toks) && !c.is(i, "(") && n < 200; n++ { // name and generics
		if c.is(i, "{") || c.is(i, ";") || c.is(i, "=") && n == 0 {
			return -1, 0
		}
		i++
	}
	if !c.is(i, "(") {
		return -1, 0
	}
	i = c.match[i] + 1
	end = i
	if c.is(i, ":") {
		i++
		for i < len(c.toks) && !c.is(i, ";") && !c.is(i, ",") {
			if c.is(i, "{") && !c.typeStart(i) || c.toks[i].first && !c.typeStart(i) && !c.is(i, "|") && !c.is(i, "&") {
				break
			}
			if c.match[i] > i {
				i = c.match[i]
			} else if c.match[i] < i {
				break // the end of what is around it
			}
			i++
		}
		end = i
	}
	if c.is(i, "{") {
		return end, c.match[i] + 1
	}
	return end, i
}

// typeStart says whether a brace at i begins a type, by what stands before it.
func (c *jsCode) typeStart(i int) bool {
	for _, p := range []string{":", "|", "&", "=>", "<", ",", "=", "is", "extends", "?", "keyof", "readonly"} {
		if c.is(i-1, p) {
			return true
		}
	}
	return false
}

// statementEnd is behind the statement that goes on at i: a semicolon, or a line that does not continue it.
func (c *jsCode) statementEnd(i int) int {
	for i < len(c.toks) {
		t := c.toks[i]
		if c.is(i, ";") || c.match[i] < i {
			return i
		}
		if t.first && !c.joins(i) {
			return i
		}
		i = max(i, c.match[i]) + 1
	}
	return i
}

// joins says whether the token at the start of a line continues the line before.
func (c *jsCode) joins(i int) bool {
	t, before := c.toks[i], c.toks[i-1]
	if t.kind == 'p' && !slices.Contains([]string{"{", "[", "(", "}", "@"}, t.text) {
		return true
	}
	if before.kind == 'p' && !slices.Contains([]string{")", "]", "}", ";"}, before.text) {
		return true
	}
	return t.text == "extends" || before.kind == 'n' && slices.Contains([]string{"extends", "keyof", "typeof", "infer", "is"}, before.text)
}

// variable reads const name = …; a function in it makes it a function.
func (c *jsCode) variable(d *jsDecl, begin, i int, doc span) (*jsDecl, int) {
	d.name, d.kind, d.doc = c.name(i+1), docs.Value, c.doc(doc)
	if d.name == "" {
		return nil, 0
	}
	end := c.statementEnd(i + 2)
	eq := i + 2
	for eq < end && !c.is(eq, "=") {
		eq = max(eq, c.match[eq]) + 1
	}
	if eq < end {
		if f, next := c.arrow(eq+1, d.name, doc, c.toks[begin].from); f != nil {
			f.signature = c.spell(begin, eq+1) + " " + f.signature
			return f, next
		}
		value := eq + 1
		if c.is(value, "async") {
			value++
		}
		if c.is(value, "function") {
			if h, next := c.headEnd(value + 1); h > 0 {
				d.kind, d.signature, d.to = docs.Function, c.spell(begin, h), c.toks[h-1].to
				return d, next
			}
		}
		if c.is(value, "class") {
			if k, next := c.class(&jsDecl{from: d.from}, value, value, doc); k != nil {
				k.name = d.name
				return k, next
			}
		}
	}
	d.signature = oneLine(c.spell(begin, end), 300)
	d.to = c.toks[min(end, len(c.toks))-1].to
	if c.is(eq+1, "{") || c.is(eq+1, "[") || len(d.signature) >= 298 || eq < end && strings.Contains(d.signature, "require(") {
		// Too much to show: what the type says, or only the name.
		d.signature, d.to = c.spell(begin, eq), c.toks[eq-1].to
	}
	return d, end
}

// arrow reads (a, b): T => …; the signature ends at the arrow.
func (c *jsCode) arrow(i int, name string, doc span, from int) (*jsDecl, int) {
	begin := i
	if c.is(i, "async") {
		i++
	}
	if c.is(i, "<") { // generics
		for n := 0; n < 100 && i < len(c.toks) && !c.is(i, "("); n++ {
			i++
		}
	}
	switch {
	case c.is(i, "("):
		i = c.match[i] + 1
	case c.name(i) != "" && c.is(i+1, "=>"):
		i++
	default:
		return nil, 0
	}
	if c.is(i, ":") {
		for n := 0; n < 200 && i < len(c.toks) && !c.is(i, "=>") && !c.is(i, ";"); n++ {
			i = max(i, c.match[i]) + 1
		}
	}
	if !c.is(i, "=>") {
		return nil, 0
	}
	d := &jsDecl{kind: docs.Function, name: name, doc: c.doc(doc), from: c.start(doc, from), signature: c.spell(begin, i+1) + " …", to: c.toks[i].to}
	if c.is(i+1, "{") {
		return d, c.match[i+1] + 1
	}
	return d, c.statementEnd(i + 1)
}

// class reads a class and its public members.
func (c *jsCode) class(d *jsDecl, begin, i int, doc span) (*jsDecl, int) {
	d.kind, d.doc = docs.Type, c.doc(doc)
	if !c.is(i+1, "{") && !c.is(i+1, "extends") {
		d.name = c.name(i + 1)
	}
	open := i + 1
	for open < min(len(c.toks), i+headTokens) && !c.is(open, "{") {
		open = max(open, c.match[open]) + 1
	}
	if !c.is(open, "{") {
		return nil, 0
	}
	d.signature, d.to = c.spell(begin, open), c.toks[open-1].to
	end := c.match[open]
	var fields []string
	for k := open + 1; k < end; {
		if m, field, next := c.member(k, end); next > k {
			if m != nil {
				d.members = append(d.members, *m)
			}
			if field != "" && len(fields) < 30 {
				fields = append(fields, "  "+field+";")
			}
			k = next
		} else {
			k = max(k, c.match[k]) + 1
		}
	}
	if len(fields) > 0 {
		d.signature += " {\n" + strings.Join(fields, "\n") + "\n}"
		d.to = c.toks[end].to
	}
	return d, end + 1
}

// member reads one member of a class: a method, or a field with a type.
func (c *jsCode) member(k, end int) (m *jsDecl, field string, next int) {
	for c.is(k, "@") { // a decorator
		k += 2
		for c.is(k, ".") {
			k += 2
		}
		if c.is(k, "(") {
			k = c.match[k] + 1
		}
	}
	if k >= end {
		return nil, "", k
	}
	begin, hidden := k, false
	doc := c.toks[k].doc
	for k < end {
		word := c.name(k)
		if !slices.Contains([]string{"public", "private", "protected", "static", "async", "get", "set", "readonly", "abstract", "override", "declare", "accessor"}, word) || c.is(k+1, "(") || c.is(k+1, "=") || c.is(k+1, ":") || c.is(k+1, ";") {
			break
		}
		hidden = hidden || word == "private" || word == "protected" || word == "set"
		k++
	}
	if c.is(k, "*") {
		k++
	}
	name := c.name(k)
	hidden = hidden || name == "" || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_")
	if c.is(k, ";") || k >= end {
		return nil, "", k + 1
	}
	if c.is(k+1, "(") || c.is(k+1, "<") {
		h, after := c.headEnd(k)
		if h > 0 && after <= end {
			if !hidden {
				m = &jsDecl{kind: docs.Method, name: name, signature: c.spell(begin, h), doc: c.doc(doc), from: c.start(doc, c.toks[begin].from), to: c.toks[h-1].to}
			}
			return m, "", max(after, k+1)
		}
	}
	after := min(c.statementEnd(k+1), end)
	after = max(after, k+1)
	if !hidden && (c.is(k+1, ":") || c.is(k+1, "?") && c.is(k+2, ":")) {
		stop := k + 1
		for stop < after && !c.is(stop, "=") {
			stop = max(stop, c.match[stop]) + 1
		}
		field = oneLine(c.spell(begin, min(stop, after)), 200)
	}
	return nil, field, after
}

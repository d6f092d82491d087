package facts

import (
	"slices"
	"strings"
	"unicode"

	"ramet/internal/docs"
)

// pyItem is a class, function, method or value of a module.
type pyItem struct {
	kind      docs.Kind
	name      string // with the class before a method
	signature string
	doc       string
	from, to  int // offsets
}

// pyModule is what one file declares.
type pyModule struct {
	path    string
	name    string // dotted
	doc     string
	docEnd  int // offset
	items   []pyItem
	all     []string // of __all__
	hasAll  bool
	openAll bool // __all__ is made of more than literals
	imports []pyImport
}

type pyImport struct {
	from string // dotted, with leading dots
	name string // or *
	as   string
}

// pyScope is a block that lines stand in.
type pyScope struct {
	indent int
	kind   byte   // c class, f function, b another block: names in it belong to what is around it
	name   string // of the class
	public bool
	item   int // index of the class in items, or -1
}

// scanPython finds what a module declares.
func scanPython(text string) *pyModule {
	lines := pyLines(text)
	m := &pyModule{}
	var scopes []pyScope
	var decorators []pyLine
	for i, l := range lines {
		for len(scopes) > 0 && l.indent <= scopes[len(scopes)-1].indent {
			scopes = scopes[:len(scopes)-1]
		}
		if i == 0 && len(l.toks) == 1 && l.toks[0].kind == 's' {
			doc, _ := pyValue(l.toks[0])
			m.doc, m.docEnd = unindent(doc), l.toks[0].to
			continue
		}
		at := pyAround(scopes)
		first := l.toks[0]
		switch {
		case l.is(0, "@"):
			decorators = append(decorators, l)
			continue
		case l.is(0, "class") || l.is(0, "def") || l.is(0, "async") && l.is(1, "def"):
			scopes = append(scopes, m.define(text, lines, i, at, decorators))
		case at.kind == 'f':
		case at.kind == 0 && first.text == "__all__":
			m.exports(l)
		case at.kind == 0 && (l.is(0, "from") || l.is(0, "import")):
			m.importing(l)
		case at.kind == 0 && len(scopes) == 0 && first.kind == 'n' && (l.is(1, "=") || l.is(1, ":")) && !l.is(0, "else") && !l.is(0, "try") && !l.is(0, "finally"):
			m.value(text, lines, i)
		case at.kind == 'c' && at.item >= 0 && scopes[len(scopes)-1].kind == 'c':
			m.field(text, l, at)
		}
		if l.is(len(l.toks)-1, ":") && first.text != "class" && first.text != "def" && !l.is(1, "def") {
			kind := byte('b')
			if l.is(0, "if") && l.is(1, "__name__") {
				kind = 'f' // what runs as a script is no API
			}
			scopes = append(scopes, pyScope{indent: l.indent, kind: kind, item: -1})
		}
		decorators = nil
	}
	return m
}

// pyAround is the nearest scope that names belong to; the zero scope is the module.
func pyAround(scopes []pyScope) pyScope {
	for _, s := range slices.Backward(scopes) {
		if s.kind != 'b' {
			return s
		}
	}
	return pyScope{item: -1, public: true}
}

// define takes a class or function in and gives the scope of its body.
func (m *pyModule) define(text string, lines []pyLine, i int, at pyScope, decorators []pyLine) pyScope {
	l := lines[i]
	scope := pyScope{indent: l.indent, kind: 'f', item: -1}
	word := 0
	if l.is(0, "async") {
		word = 1
	}
	isClass := l.is(0, "class")
	if word+1 >= len(l.toks) || l.toks[word+1].kind != 'n' {
		return scope
	}
	name := l.toks[word+1].text
	if isClass {
		scope.kind = 'c'
	}
	if at.kind == 'f' || !at.public || hiddenPython(name, at.kind == 'c') {
		return scope
	}
	head := pySplit(l.toks, ":")[0]
	end := head[len(head)-1].to
	item := pyItem{kind: docs.Function, name: name, from: l.toks[0].from}
	var shown []string
	for _, d := range decorators {
		item.from = min(item.from, d.toks[0].from)
		spelled := pySpell(text, d.toks)
		if strings.HasSuffix(spelled, ".setter") || strings.HasSuffix(spelled, ".deleter") || strings.HasSuffix(spelled, "overload") {
			return scope
		}
		if strings.Contains(spelled+"(", ".command(") || strings.Contains(spelled+"(", ".group(") || strings.Contains(spelled+"(", ".callback(") {
			return scope // of a command line: claimed as such
		}
		if showDecorator(spelled) {
			shown = append(shown, oneLine(spelled, 200))
		}
	}
	doc, docEnd := pyDoc(lines, i, len(head))
	item.doc, item.to = doc, max(end, docEnd)
	item.signature = strings.Join(append(shown, pySpell(text, head)), "\n")
	switch {
	case isClass:
		item.kind = docs.Type
		scope.public, scope.name, scope.item = true, name, len(m.items)
		if at.kind == 'c' {
			item.name, scope.name = at.name+"."+name, at.name+"."+name
		}
	case at.kind == 'c':
		item.kind, item.name = docs.Method, at.name+"."+name
	}
	m.items = append(m.items, item)
	return scope
}

// showDecorator picks those that tell a caller something.
func showDecorator(d string) bool {
	for _, word := range []string{"property", "staticmethod", "classmethod", "dataclass", "abstractmethod", "contextmanager", "deprecated", "cached_property", "final"} {
		if strings.Contains(d, word) {
			return true
		}
	}
	return false
}

func hiddenPython(name string, method bool) bool {
	if method && (name == "__init__" || name == "__call__" || name == "__enter__" || name == "__iter__" || name == "__getitem__") {
		return false
	}
	return strings.HasPrefix(name, "_")
}

// pyDoc is the docstring of the definition at line i, whose head has n tokens.
func pyDoc(lines []pyLine, i, n int) (string, int) {
	body := lines[i].toks[min(n+1, len(lines[i].toks)):]
	if len(body) == 0 && i+1 < len(lines) && lines[i+1].indent > lines[i].indent {
		body = lines[i+1].toks
	}
	if len(body) == 0 || body[0].kind != 's' {
		return "", 0
	}
	if len(body) > 1 && body[1].text != ";" {
		return "", 0
	}
	doc, ok := pyValue(body[0])
	if !ok {
		return "", 0
	}
	return unindent(doc), body[0].to
}

// exports reads an assignment to __all__.
func (m *pyModule) exports(l pyLine) {
	if !l.is(1, "=") && !l.is(1, "+=") && !l.is(1, ":") {
		return
	}
	m.hasAll = true
	for i, t := range l.toks {
		if s, ok := pyValue(t); ok {
			m.all = append(m.all, s)
		} else if i > 1 && t.kind == 'n' {
			m.openAll = true
		}
	}
}

// importing keeps from … import …; imports of whole modules re-export nothing.
func (m *pyModule) importing(l pyLine) {
	if !l.is(0, "from") {
		return
	}
	var from strings.Builder
	i := 1
	for ; i < len(l.toks) && !l.is(i, "import"); i++ {
		from.WriteString(l.toks[i].text)
	}
	if i+1 >= len(l.toks) {
		return
	}
	for _, part := range pySplit(pyInner(l.toks[i+1:]), ",") {
		if len(part) == 0 {
			continue
		}
		imp := pyImport{from: from.String(), name: part[0].text, as: part[len(part)-1].text}
		m.imports = append(m.imports, imp)
	}
}

// value takes a constant in: written in capitals, or named by __all__ (checked later).
func (m *pyModule) value(text string, lines []pyLine, i int) {
	l := lines[i]
	name := l.toks[0].text
	if strings.HasPrefix(name, "_") {
		return
	}
	item := pyItem{kind: docs.Value, name: name, from: l.toks[0].from, to: l.toks[len(l.toks)-1].to}
	item.signature = oneLine(pySpell(text, l.toks), 300)
	if i+1 < len(lines) && len(lines[i+1].toks) == 1 && lines[i+1].toks[0].kind == 's' && lines[i+1].indent == l.indent {
		doc, _ := pyValue(lines[i+1].toks[0])
		item.doc, item.to = unindent(doc), lines[i+1].toks[0].to
	}
	m.items = append(m.items, item)
}

// field adds a declared attribute to the class around it: name: type, or a member of an enum.
func (m *pyModule) field(text string, l pyLine, at pyScope) {
	name := l.toks[0]
	if name.kind != 'n' || strings.HasPrefix(name.text, "_") {
		return
	}
	class := &m.items[at.item]
	annotated := l.is(1, ":") && len(l.toks) > 2
	member := l.is(1, "=") && strings.Contains(class.signature, "Enum") || l.is(1, "=") && strings.Contains(class.signature, "Flag")
	if !annotated && !member {
		return
	}
	line := "\n    " + oneLine(pySpell(text, l.toks), 200)
	if !strings.Contains(class.signature, ":\n") {
		line = ":" + line
	}
	if len(class.signature)+len(line) > signatureLimit {
		return
	}
	class.signature += line
	class.to = max(class.to, l.toks[len(l.toks)-1].to)
}

// capital says whether a name is that of a constant.
func capital(name string) bool {
	return strings.ToUpper(name) == name && strings.ContainsFunc(name, unicode.IsLetter) && len(name) > 1
}

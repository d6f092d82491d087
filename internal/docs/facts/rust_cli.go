package facts

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"ramet/internal/docs"
)

// rustPrograms claims the programs that cargo finds by their place, and command lines that
// are declared with clap's derive.
func (t *tree) rustPrograms(p *project, files map[string]rsFile) []*claim {
	var out []*claim
	c := &clap{types: map[string]*rsItem{}, sources: map[*rsItem]*source{}}
	program, programs := "", map[string]string{} // by their files
	for _, cl := range p.claims {
		if cl.Kind == docs.Entry {
			program = cmp.Or(program, cl.Name)
			programs[path.Join(p.dir, cl.Signature)] = cl.Name
		}
	}
	var names []string
	for name := range files {
		if within(name, p.dir) && !inExamples(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		f := files[name]
		c.add(f.items, f.s)
		rel := strings.TrimPrefix(name, p.dir+"/")
		if dir, base := path.Split(rel); dir == "src/bin/" {
			bin := strings.TrimSuffix(base, ".rs")
			out = append(out, newClaim("rust", docs.Entry, p.place(), bin).in(p.name).signed(rel).
				says(rsDocText(f.inner)).at(f.s, 1, max(1, rsInnerLines(f.s))))
			programs[name] = bin
			if program == "" {
				program = bin
			}
		} else if bin := programs[name]; bin != "" && len(f.inner) > 0 {
			out = append(out, newClaim("rust", docs.Entry, p.place(), bin).in(p.name).signed(rel).
				says(rsDocText(f.inner)).at(f.s, 1, max(1, rsInnerLines(f.s))))
		}
	}
	for _, root := range c.roots {
		s := c.sources[root]
		name := cmp.Or(programs[s.path], program, attrValue(root.attrs, "name"), p.name)
		c.s, c.place, c.program, c.out, c.seen = s, p.place(), name, nil, map[*rsItem]bool{}
		c.command(root, s, "", attrAbout(root.attrs, root.doc), root.from, root.to)
		c.arguments(root.fields, s, "")
		out = append(out, c.out...)
	}
	return out
}

// clap follows types by their names through one package.
type clap struct {
	types   map[string]*rsItem
	sources map[*rsItem]*source
	roots   []*rsItem
	s       *source
	place   string
	program string
	out     []*claim
	seen    map[*rsItem]bool
}

func (c *clap) add(items []*rsItem, s *source) {
	for _, it := range items {
		if it.word == "mod" {
			c.add(it.items, s)
		}
		if it.word != "struct" && it.word != "enum" {
			continue
		}
		if c.types[it.name] == nil {
			c.types[it.name] = it
			c.sources[it] = s
		}
		if derives(it, "Parser") || derives(it, "StructOpt") {
			if c.sources[it] == nil {
				c.sources[it] = s
			}
			c.roots = append(c.roots, it)
		}
	}
}

func derives(it *rsItem, what string) bool {
	for _, a := range it.attrs {
		if list, ok := strings.CutPrefix(a, "derive("); ok {
			for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == ')' || r == ':' }) {
				if word == what {
					return true
				}
			}
		}
	}
	return false
}

func (c *clap) command(it *rsItem, s *source, words, about string, from, to int) {
	if it.word == "enum" && words == "" {
		c.commands(it, "")
		return
	}
	c.out = append(c.out, cliClaims("rust", c.place, c.program, s, []*cliItem{{command: words, text: about, from: from, to: to}})...)
}

// commands takes the variants of a Subcommand.
func (c *clap) commands(it *rsItem, words string) {
	if it == nil || it.word != "enum" || c.seen[it] {
		return
	}
	c.seen[it] = true
	s := c.sources[it]
	for _, v := range it.fields {
		if v.name == "" || unlisted(v.attrs) {
			continue
		}
		full := strings.TrimSpace(words + " " + cmp.Or(attrValue(v.attrs, "name"), kebab(v.name)))
		inner := c.types[lastName(tupleType(v))]
		about := attrAbout(v.attrs, v.doc)
		if about == "" && inner != nil {
			about = attrAbout(inner.attrs, inner.doc)
		}
		c.out = append(c.out, cliClaims("rust", c.place, c.program, s, []*cliItem{{command: full, text: about, from: v.from, to: v.to}})...)
		switch {
		case inner == nil:
			c.arguments(v.fields, s, full)
		case inner.word == "enum":
			c.commands(inner, full)
		case !c.seen[inner]:
			c.arguments(inner.fields, c.sources[inner], full)
		}
	}
}

// unlisted says whether a variant is no command that help shows.
func unlisted(attrs []string) bool {
	_, external := attrWord(attrs, "external_subcommand")
	_, skip := attrWord(attrs, "skip")
	return external || skip || attrValue(attrs, "hide") == "true"
}

// tupleType is the type in Variant(Type).
func tupleType(v rsField) string {
	if len(v.fields) == 1 && strings.Contains(v.typ, "(") && !strings.Contains(v.typ, "{") {
		return v.fields[0].typ
	}
	return ""
}

// arguments takes the fields of a struct.
func (c *clap) arguments(fields []rsField, s *source, words string) {
	for _, f := range fields {
		attrs := strings.Join(f.attrs, " ")
		has := func(word string) bool { _, ok := attrWord(f.attrs, word); return ok }
		_, typ, _ := strings.Cut(f.typ, ":")
		typ = strings.TrimSpace(typ)
		switch {
		case has("skip") || attrValue(f.attrs, "hide") == "true" || f.name == "":
			continue
		case has("subcommand"):
			c.commands(c.types[lastName(typ)], words)
			continue
		case has("flatten"):
			if sub := c.types[lastName(typ)]; sub != nil && !c.seen[sub] {
				c.seen[sub] = true
				c.arguments(sub.fields, c.sources[sub], words)
				delete(c.seen, sub)
			}
			continue
		}
		var names []string
		if v, ok := attrWord(f.attrs, "short"); ok {
			names = append(names, "-"+cmp.Or(v, f.name[:1]))
		}
		if v, ok := attrWord(f.attrs, "long"); ok {
			names = append(names, "--"+cmp.Or(v, strings.ReplaceAll(f.name, "_", "-")))
		}
		value := "<" + cmp.Or(attrValue(f.attrs, "value_name"), strings.ToUpper(f.name)) + ">"
		name := longest(names)
		if len(names) == 0 {
			name, names = strings.ToUpper(f.name), []string{value}
			value = ""
		}
		if typ == "bool" || strings.Contains(attrs, "ArgAction::Count") {
			value = ""
		}
		def := attrValue(f.attrs, "default_value")
		if v, ok := attrWord(f.attrs, "default_value_t"); ok && def == "" {
			def = v
		}
		c.out = append(c.out, cliClaims("rust", c.place, c.program, s, []*cliItem{{flag: true, command: words, name: name,
			signature: flagSignature(names, value, oneLine(def, 60)), text: attrAbout(f.attrs, f.doc), from: f.from, to: f.to}})...)
	}
}

// attrAbout is the help: of an attribute, else of the doc comment.
func attrAbout(attrs, doc []string) string {
	for _, key := range []string{"help", "about", "long_about"} {
		if v := attrValue(attrs, key); v != "" {
			return v
		}
	}
	for i, line := range doc {
		doc[i] = strings.ReplaceAll(line, "{n}", "") // clap's line break
	}
	return rsDocText(doc)
}

// attrValue is the string that a key of arg(…), command(…) or clap(…) is given.
func attrValue(attrs []string, key string) string {
	v, _ := attrWord(attrs, key)
	return v
}

// attrWord finds a key in the attributes of clap; its value may be missing.
func attrWord(attrs []string, key string) (string, bool) {
	for _, a := range attrs {
		name, list, ok := strings.Cut(a, "(")
		name = strings.TrimSpace(name)
		if !ok || name != "arg" && name != "command" && name != "clap" && name != "structopt" && name != "group" {
			continue
		}
		c := lexRust(strings.TrimSuffix(list, ")"))
		if c == nil {
			continue
		}
		for i := 0; i < len(c.toks); i = max(i, c.match[i]) + 1 {
			if !c.is(i, key) || i > 0 && !c.is(i-1, ",") {
				continue
			}
			if !c.is(i+1, "=") {
				return "", true
			}
			if i+2 >= len(c.toks) {
				return "", true
			}
			switch t := c.toks[i+2]; t.kind {
			case 's':
				return rsString(t), true
			case 'c':
				return strings.Trim(t.text, "'"), true
			default:
				return c.spell(i+2, c.until(i+2, len(c.toks), ",")), true
			}
		}
	}
	return "", false
}

// lastName is the name of a type without path and wrappers: Option<cli::Commands> is Commands.
func lastName(typ string) string {
	words := strings.FieldsFunc(typ, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// kebab writes CamelCase as clap does.
func kebab(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.ReplaceAll(b.String(), "_", "-")
}

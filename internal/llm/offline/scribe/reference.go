package scribe

import (
	"maps"
	"slices"
	"strings"

	"ramet/internal/llm/offline/prose"
)

// reference is a list of modules, or what modules offer.
func (s *sheet) reference() {
	index := len(s.a.Section.Pages) > 1 && s.page.Path == s.a.Section.Pages[0].Path
	if index {
		s.index()
		return
	}
	modules := s.modules()
	for _, m := range modules {
		if len(modules) == 1 {
			s.module(m, 2)
			continue
		}
		s.heading(2, prose.Escape(nameOr(m.name, s.a.Project)))
		s.module(m, 3)
	}
}

// group is a module with its claims.
type group struct {
	name   string
	claims []Claim
}

func moduleOf(c Claim) string {
	if c.Kind == "module" && c.Module == "" {
		return c.Name
	}
	return c.Module
}

func (s *sheet) modules() []group {
	var out []group
	for _, c := range s.all {
		i := slices.IndexFunc(out, func(g group) bool { return g.name == moduleOf(c) })
		if i < 0 {
			out, i = append(out, group{name: moduleOf(c)}), len(out)
		}
		out[i].claims = append(out[i].claims, c)
	}
	return out
}

// index lists the modules, each with its page.
func (s *sheet) index() {
	pages := map[string]string{}
	for _, p := range s.a.Section.Pages[1:] {
		for _, id := range p.Claims {
			if m := moduleOf(s.a.Claims[id]); pages[m] == "" {
				pages[m] = p.Path
			}
		}
	}
	s.say("The public modules of " + prose.Escape(s.a.Project) + ".")
	var rows [][]string
	for _, c := range s.all {
		name := prose.CodeSpan(nameOr(moduleOf(c), s.a.Project))
		if p := pages[moduleOf(c)]; p != "" {
			name = "[" + name + "](" + relative(s.page.Path, p) + ")"
		}
		rows = append(rows, []string{name, shorten(lead(c))})
	}
	// The other pages of a module that is on several.
	own := map[string]bool{}
	for _, p := range s.a.Section.Pages[1:] {
		if own[p.Path] = true; !slices.Contains(slices.Collect(maps.Values(pages)), p.Path) {
			rows = append(rows, []string{"[" + prose.Escape(p.Title) + "](" + relative(s.page.Path, p.Path) + ")", ""})
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(linkWords(a[0]), linkWords(b[0])) })
	s.table([]string{"Module", "What it is"}, rows, s.all)
	s.page.Related = slices.DeleteFunc(slices.Clone(s.page.Related), func(r string) bool { return own[r] })
}

// linkWords are the words of a link, for sorting.
func linkWords(s string) string {
	words, _, _ := strings.Cut(strings.TrimLeft(s, "[`"), "](")
	return strings.Trim(words, "`")
}

// widest is how much of a sentence stands in a cell.
const widest = 160

// shorten cuts a line of Markdown for a cell, not within code or a link.
func shorten(s string) string {
	if len(s) <= widest {
		return s
	}
	out := ""
	for w := range strings.FieldsSeq(s) {
		if len(out)+len(w) > widest {
			break
		}
		out += w + " "
	}
	out = strings.TrimRight(out, " ,;:")
	if strings.Count(out, "`")%2 == 1 || strings.Count(out, "[") != strings.Count(out, "]") || strings.Count(out, "(") != strings.Count(out, ")") {
		return s
	}
	return out + " …"
}

// module writes one module; level is that of its headings.
func (s *sheet) module(g group, level int) {
	var values, functions, types []Claim
	members := map[string][]Claim{} // of types
	examples := map[string][]Claim{}
	known := map[string]bool{}
	for _, c := range g.claims {
		if c.Kind == "type" {
			known[c.Name] = true
		}
	}
	for _, c := range g.claims {
		switch c.Kind {
		case "module":
			if c.Text == "" && level == 2 {
				s.say("The public names of " + prose.CodeSpan(g.name) + ".")
			}
			s.moduleHead(c, level)
		case "value":
			if of := owner(c); known[of] {
				members[of] = append(members[of], c)
			} else {
				values = append(values, c)
			}
		case "method":
			members[owner(c)] = append(members[owner(c)], c)
		case "type":
			types = append(types, c)
		case "function":
			functions = append(functions, c)
		case "example":
			examples[exampleOf(c)] = append(examples[exampleOf(c)], c)
		}
	}
	s.elsewhere(g)
	// Methods of a type that stands on another page.
	for _, c := range g.claims {
		if of := owner(c); c.Kind == "method" && !known[of] {
			known[of] = true
			types = append(types, Claim{Kind: "type", Name: of})
		}
	}
	w := apiWriter{s: s, level: level, members: members, examples: examples}
	if len(types) == 1 && len(values)+len(functions) == 0 && types[0].ID != "" && level == 2 && !s.has(g, "module") {
		w.body(types[0], 1) // the page is about it
		types = nil
	}
	for _, c := range examples[""] {
		s.heading(level, "Example")
		s.example(c)
	}
	w.values(values)
	w.items("Functions", functions)
	w.items("Types", types)
	for _, c := range g.claims { // examples of what is not on the page
		if c.Kind == "example" && !s.used[c.ID] {
			s.heading(level, "Example: "+exampleTitle(c))
			s.example(c)
		}
	}
}

func (s *sheet) has(g group, kind string) bool {
	return slices.ContainsFunc(g.claims, func(c Claim) bool { return c.Kind == kind })
}

// elsewhere says where the module is told of, on a page that shows only a part of it.
func (s *sheet) elsewhere(g group) {
	if s.has(g, "module") || s.a.Section.Name != "reference" {
		return
	}
	for _, p := range s.a.Section.Pages {
		for _, id := range p.Claims {
			c := s.a.Claims[id]
			if p.Path != s.page.Path && p.Path != s.a.Section.Pages[0].Path && c.Kind == "module" && moduleOf(c) == g.name {
				s.say("Part of [" + prose.CodeSpan(g.name) + "](" + relative(s.page.Path, p.Path) + ").")
				return
			}
		}
	}
}

// moduleHead says what a module is.
func (s *sheet) moduleHead(c Claim, level int) {
	blocks := prose.Blocks(c.Text, tongue(c), level+s.shift)
	if len(blocks) > 0 && blocks[0].Kind == prose.Paragraph {
		s.blocks(c, blocks[:1])
		blocks = blocks[1:]
	}
	switch {
	case c.Signature == "":
	case s.used[c.ID]:
		s.code(c.Signature, c.Language)
	default:
		s.code(c.Signature, c.Language, c)
	}
	s.blocks(c, blocks)
}

// owner is the type that a method belongs to.
func owner(c Claim) string {
	name := strings.NewReplacer("(*", "", "(", "", ")", "", "::", ".", "#", ".").Replace(c.Name)
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		return name[:at]
	}
	return ""
}

// exampleOf is what an example is about: a function, a type, a method, or the module.
func exampleOf(c Claim) string {
	name := strings.TrimPrefix(c.Name, "Example")
	name, _, _ = strings.Cut(name, " ")
	if strings.EqualFold(name, moduleOf(c)) || strings.HasSuffix(moduleOf(c), "/"+name) {
		return ""
	}
	return name
}

type apiWriter struct {
	s                 *sheet
	level             int
	members, examples map[string][]Claim
}

// values are a list; those with much to say stand by themselves.
func (w apiWriter) values(all []Claim) {
	if len(all) == 0 {
		return
	}
	w.s.heading(w.level, "Constants and variables")
	w.brief(all, w.level+1)
}

func (w apiWriter) brief(all []Claim, level int) {
	var items []string
	var of, long []Claim
	for _, c := range all {
		blocks := prose.Blocks(c.Text, tongue(c), level)
		if strings.Contains(c.Signature, "\n") || len(blocks) > 1 || len(blocks) == 1 && (blocks[0].Kind != prose.Paragraph || len(blocks[0].Text) > 400) {
			long = append(long, c)
			continue
		}
		code := c.Signature
		if code == "" || len(code) > wide { // its value is not what it is about
			code = c.Name
		}
		item := prose.CodeSpan(code)
		if len(blocks) == 1 {
			item += ": " + blocks[0].Text
		}
		items, of = append(items, item), append(of, c)
	}
	w.s.list(items, of)
	for _, c := range long {
		w.item(c, level)
	}
}

func (w apiWriter) items(title string, all []Claim) {
	if len(all) == 0 {
		return
	}
	w.s.heading(w.level, title)
	for _, c := range all {
		w.item(c, w.level+1)
	}
}

// item is one declaration with what it says, its examples and its members.
func (w apiWriter) item(c Claim, level int) {
	w.s.heading(level, titleOf(c))
	w.body(c, level)
}

// body is an item without its heading.
func (w apiWriter) body(c Claim, level int) {
	cite := c.ID != ""
	if c.Signature != "" {
		if strings.TrimSpace(c.Text) == "" && cite {
			w.s.code(c.Signature, c.Language, c)
		} else {
			w.s.code(c.Signature, c.Language)
		}
	}
	if cite && !w.s.text(c, level+1) && !w.s.used[c.ID] {
		w.s.add(marker(c), c)
	}
	for _, e := range w.examples[display(c)] {
		w.s.say("**Example:**")
		w.s.example(e)
	}
	if c.Kind != "type" {
		return
	}
	var values, methods []Claim
	for _, m := range w.members[c.Name] {
		if m.Kind == "value" {
			values = append(values, m)
		} else {
			methods = append(methods, m)
		}
	}
	if len(values) > 0 {
		w.brief(values, level+1)
	}
	for _, m := range methods {
		w.item(m, level+1)
	}
}

// titleOf is the heading of an item: of a group of values the first of its names.
func titleOf(c Claim) string {
	if c.Kind != "value" || !groupHead().MatchString(c.Signature) {
		return prose.CodeSpan(display(c))
	}
	var names []string
	for _, m := range groupName().FindAllStringSubmatch(c.Signature, -1) {
		for n := range strings.SplitSeq(m[1], ",") {
			names = append(names, prose.CodeSpan(n))
		}
	}
	if len(names) == 0 {
		return prose.CodeSpan(display(c))
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return strings.Join(names, ", ")
}

var (
	groupHead = lazily(`^(?:const|var) \(\n`)
	groupName = lazily(`(?m)^\t([A-Z]\w*(?:, *[A-Z]\w*)*)(?:\s|$)`)
)

// display is a name as a heading has it.
func display(c Claim) string { return strings.NewReplacer("(*", "", "(", "", ")", "").Replace(c.Name) }

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
)

const (
	small   = 6  // claims of a module that does not get a page of its own
	several = 20 // methods of a type that gets one, in a module that is split
)

// module is a public module with its claims.
type module struct {
	name   string // as users write it
	claims []docs.Claim
}

// reference has a page for each public module, and one that lists them.
func (m *maker) reference(all []docs.Claim, title, brief string) []docs.Page {
	modules := group(all)
	total, api := 0, 0
	var index []docs.Claim
	for _, mod := range modules {
		total += len(mod.claims)
		for _, c := range mod.claims {
			if c.Kind == docs.Module {
				index = append(index, c)
			} else if c.Kind != docs.Example {
				api++
			}
		}
	}
	if api == 0 && len(index) < 2 {
		return nil // there is nothing to look up
	}
	if total <= most/2 || len(modules) == 1 && total <= most {
		var use []docs.Claim
		for _, mod := range modules {
			use = append(use, mod.claims...)
		}
		return []docs.Page{m.page(title, brief, use, "reference")}
	}
	prefix := stem(modules)
	pages := m.modulePages(modules, prefix)
	if len(index) == 0 {
		for _, mod := range modules {
			index = append(index, mod.claims[0])
		}
	}
	out := []docs.Page{m.page(title, brief, first(index, most), "reference")}
	for _, p := range pages {
		out[0].Related = append(out[0].Related, p.Path)
		p.Related = append(p.Related, out[0].Path)
		out = append(out, p)
	}
	return out
}

// group makes modules of claims, by name; within one, the module itself, then its values,
// functions, types with their methods.
func group(all []docs.Claim) []module {
	by := map[string]*module{}
	for _, c := range all {
		if c.Kind == docs.Example && strings.HasPrefix(strings.ToLower(path.Base(place(c).File)), "readme") {
			continue
		}
		name := c.Module
		if c.Kind == docs.Module {
			name = cmp.Or(name, c.Name)
		}
		if !public(name, c.Language) {
			continue
		}
		if by[name] == nil {
			by[name] = &module{name: name}
		}
		by[name].claims = append(by[name].claims, c)
	}
	var out []module
	for _, name := range slices.Sorted(maps.Keys(by)) {
		mod := by[name]
		if !slices.ContainsFunc(mod.claims, func(c docs.Claim) bool { return c.Kind != docs.Example }) {
			continue
		}
		mod.claims = arranged(mod.claims)
		out = append(out, *mod)
	}
	return out
}

// hidden are parts of module names that are not for users.
var hidden = map[string]bool{"internal": true, "testdata": true, "test": true, "tests": true, "example": true, "examples": true, "_examples": true, "vendor": true, "node_modules": true, "__tests__": true, "fixtures": true, "fuzz": true, "ossfuzz": true, "benchmarks": true}

func public(name, language string) bool {
	apart := "/"
	switch language {
	case "python":
		apart = "./"
	case "rust":
		apart = ":/"
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune(apart, r) }) {
		private := language == "python" && strings.HasPrefix(part, "_") && !strings.HasPrefix(part, "__")
		if hidden[part] || private {
			return false
		}
	}
	return true
}

// owner is the type that a method belongs to.
func owner(c docs.Claim) string {
	name := strings.NewReplacer("(*", "", "(", "", ")", "", "::", ".", "#", ".").Replace(c.Name)
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		return name[:at]
	}
	return ""
}

// arranged puts the claims of a module in the order in which they are read.
func arranged(claims []docs.Claim) []docs.Claim {
	rank := func(c docs.Claim) int {
		switch c.Kind {
		case docs.Module:
			return 0
		case docs.Value:
			if owner(c) == "" {
				return 1
			}
			return 3
		case docs.Function:
			return 2
		case docs.Type, docs.Method:
			return 3
		}
		return 4
	}
	of := func(c docs.Claim) string {
		if c.Kind == docs.Type {
			return c.Name
		}
		return owner(c)
	}
	out := slices.Clone(claims)
	slices.SortFunc(out, func(a, b docs.Claim) int {
		if r := cmp.Compare(rank(a), rank(b)); r != 0 {
			return r
		}
		if rank(a) == 3 {
			isType := func(c docs.Claim) int {
				if c.Kind == docs.Type {
					return 0
				}
				return 1
			}
			if r := cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(isType(a), isType(b))); r != 0 {
				return r
			}
		}
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// later puts the constructor of a class before its other methods.
func later(c docs.Claim) int {
	if name := c.Name[strings.LastIndexAny(c.Name, ".#:")+1:]; c.Kind == docs.Method && (name == "__init__" || name == "constructor" || name == "__new__") {
		return 0
	}
	return 1
}

// stem is what the names of all modules begin with, at the end of a part.
func stem(modules []module) string {
	if len(modules) < 2 {
		return path.Dir(modules[0].name) + "/"
	}
	common := modules[0].name
	for _, mod := range modules[1:] {
		for !strings.HasPrefix(mod.name, common) {
			common = common[:len(common)-1]
		}
	}
	at := strings.LastIndexAny(common, "/.:")
	return common[:at+1]
}

// short is a name without what all have in common.
func short(name, prefix string) string {
	if rest := strings.TrimPrefix(name, prefix); rest != "" {
		return rest
	}
	return name
}

// modulePages gives each module its pages; small ones that lie in the same place share
// one.
func (m *maker) modulePages(modules []module, prefix string) []docs.Page {
	shared := map[string][]module{} // by the place that they lie in
	for _, mod := range modules {
		if len(mod.claims) <= small {
			at := path.Dir(strings.ReplaceAll(short(mod.name, prefix), ".", "/"))
			shared[at] = append(shared[at], mod)
		}
	}
	var out []docs.Page
	for _, mod := range modules {
		at := path.Dir(strings.ReplaceAll(short(mod.name, prefix), ".", "/"))
		switch group := shared[at]; {
		case len(mod.claims) > small || len(group) == 1:
			out = append(out, m.modulePage(mod, short(mod.name, prefix))...)
		case group[0].name == mod.name:
			out = append(out, m.sharedPages(group, at, prefix)...)
		}
	}
	return out
}

func (m *maker) sharedPages(group []module, at, prefix string) []docs.Page {
	title := "Smaller modules"
	if at != "." {
		title += " of " + at
	}
	var out []docs.Page
	var use []docs.Claim
	flush := func() {
		if len(use) > 0 {
			out = append(out, m.page(title, "Modules that offer little, together.", use, "reference", path.Join(at, "smaller")))
		}
		use = nil
	}
	for _, mod := range group {
		if len(use)+len(mod.claims) > most {
			flush()
		}
		use = append(use, mod.claims...)
	}
	flush()
	return out
}

// modulePage is one page, or several for a module with very much.
func (m *maker) modulePage(mod module, name string) []docs.Page {
	brief := fmt.Sprintf("What %s offers, for those who use it.", mod.name)
	if len(mod.claims) <= most {
		return []docs.Page{m.page(mod.name, brief, mod.claims, "reference", name)}
	}
	var free []docs.Claim // of no type
	types := map[string][]docs.Claim{}
	for _, c := range mod.claims {
		switch of := owner(c); {
		case c.Kind == docs.Type:
			types[c.Name] = append(types[c.Name], c)
		case (c.Kind == docs.Method || c.Kind == docs.Value || c.Kind == docs.Example) && of != "":
			types[of] = append(types[of], c)
		default:
			free = append(free, c)
		}
	}
	s := splitter{m: m, mod: mod.name, slug: name}
	s.add("functions and values", free)
	var rest []docs.Claim
	from, to := "", ""
	flush := func() {
		if len(rest) > 0 {
			what := "types " + from + " to " + to
			if from == to {
				what = from
			}
			s.add(what, rest)
		}
		rest, from = nil, ""
	}
	for _, t := range slices.Sorted(maps.Keys(types)) {
		own := arranged(types[t])
		if len(own) > several {
			flush()
			s.add(t, own)
			continue
		}
		if len(rest)+len(own) > most {
			flush()
		}
		rest, from, to = append(rest, own...), cmp.Or(from, t), t
	}
	flush()
	return s.out
}

// splitter makes the pages of one module.
type splitter struct {
	m         *maker
	mod, slug string
	out       []docs.Page
}

func (s *splitter) add(what string, claims []docs.Claim) {
	n := 0
	for chunk := range slices.Chunk(claims, most) {
		title := s.mod + ": " + what
		if n++; n > 1 {
			title = fmt.Sprintf("%s, part %d", title, n)
		}
		file := s.slug
		if len(s.out) > 0 {
			file += " " + what
		}
		s.out = append(s.out, s.m.page(title, fmt.Sprintf("What %s offers: %s.", s.mod, what), chunk, "reference", file))
	}
}

package plan

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/fault"
)

// suits are the kinds of claims that a section of a name has if nothing else is said.
var suits = map[string][]docs.Kind{
	"overview":     {docs.Project, docs.Module, docs.Readme, docs.Install, docs.Example, docs.Licence},
	"guide":        {docs.Requires, docs.Install, docs.Readme, docs.Example, docs.Entry},
	"reference":    {docs.Module, docs.Function, docs.Type, docs.Method, docs.Value, docs.Example},
	"cli":          {docs.Entry, docs.Command, docs.Flag},
	"contributing": {docs.Readme, docs.Convention, docs.Requires, docs.Licence},
}

var kinds = []docs.Kind{docs.Project, docs.Licence, docs.Readme, docs.Requires, docs.Install, docs.Entry, docs.Command, docs.Flag,
	docs.Module, docs.Function, docs.Type, docs.Method, docs.Value, docs.Example, docs.Convention}

// chosen are the claims that a section asks for.
func (m *maker) chosen(w Wanted) ([]docs.Claim, error) {
	if len(w.Claims) == 0 && suits[w.Name] == nil {
		return nil, fault.New(fault.InvalidRecipe, "plan section %q: it names no claims", w.Name).
			WithHint("give it kinds of claims, such as [module, function, type]; only overview, guide, reference, cli and contributing have kinds of their own")
	}
	type want struct {
		kind   docs.Kind
		module string
	}
	var wants []want
	for _, k := range suits[w.Name] {
		if len(w.Claims) == 0 {
			wants = append(wants, want{kind: k})
		}
	}
	for _, c := range w.Claims {
		kind, module, _ := strings.Cut(c, ":")
		if !slices.Contains(kinds, docs.Kind(kind)) {
			return nil, fault.New(fault.InvalidRecipe, "plan section %q: %q is no kind of claim", w.Name, kind)
		}
		wants = append(wants, want{docs.Kind(kind), module})
	}
	var out []docs.Claim
	for _, c := range m.claims {
		if slices.ContainsFunc(wants, func(w want) bool {
			return c.Kind == w.kind && (w.module == "" || c.Module == w.module || below(c.Module, w.module))
		}) {
			out = append(out, c)
		}
	}
	return out, nil
}

// below says whether a module lies in another, in whatever language.
func below(module, in string) bool {
	rest, ok := strings.CutPrefix(module, in)
	return ok && rest != "" && strings.ContainsAny(rest[:1], "/.:")
}

// pages plans one section.
func (m *maker) pages(w Wanted, title, project string) ([]docs.Page, error) {
	all, err := m.chosen(w)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	switch w.Name {
	case "overview":
		return m.overview(all, project, w.Brief), nil
	case "guide":
		return m.guide(all, title, project, w.Brief), nil
	case "reference":
		return m.reference(all, title, w.Brief), nil
	case "cli":
		return m.cli(all, title, w.Brief), nil
	case "contributing":
		return m.contributing(all, title, project, w.Brief), nil
	}
	return m.plain(all, w.Name, title, w.Brief), nil
}

// pick takes the claims of some kinds, in the order of the kinds and then of the files.
func pick(all []docs.Claim, kinds ...docs.Kind) []docs.Claim {
	var out []docs.Claim
	for _, k := range kinds {
		var some []docs.Claim
		for _, c := range all {
			if c.Kind == k {
				some = append(some, c)
			}
		}
		out = append(out, inOrder(some)...)
	}
	return out
}

// parts are the parts of the README about a topic.
func parts(all []docs.Claim, project string, t topic) []docs.Claim {
	return slices.DeleteFunc(pick(all, docs.Readme), func(c docs.Claim) bool { return topicOf(c, project) != t })
}

// first is the first claims.
func first(claims []docs.Claim, n int) []docs.Claim { return claims[:min(n, len(claims))] }

func (m *maker) overview(all []docs.Claim, project, brief string) []docs.Page {
	use := append(pick(all, docs.Project), parts(all, project, about)...)
	for _, c := range pick(all, docs.Module) {
		if cmp.Or(c.Module, c.Name) == m.root {
			use = append(use, c)
		}
	}
	use = append(use, pick(all, docs.Install)...)
	use = append(use, m.smallest(all, project)...)
	use = append(use, pick(all, docs.Licence)...)
	if len(use) == 0 {
		return nil
	}
	return []docs.Page{m.page(project, brief, first(use, most), "index")}
}

// smallest is the smallest use of the project: a part of the README with code that tells
// of usage, else an example.
func (m *maker) smallest(all []docs.Claim, project string) []docs.Claim {
	for _, c := range parts(all, project, using) {
		if quick.MatchString(c.Name) && program.MatchString(c.Text) {
			return []docs.Claim{c}
		}
	}
	var best []docs.Claim
	for _, c := range examples(all) {
		if c.Module != m.root {
			continue // of a part, which others may never need
		}
		n := strings.Count(c.Signature+c.Text, "\n")
		if n <= 40 && (best == nil || rank(c) < rank(best[0])) {
			best = []docs.Claim{c}
		}
	}
	return best
}

// root is the module that the project is about: the one with the shortest name.
func root(claims []docs.Claim) string {
	root := ""
	for _, c := range pick(claims, docs.Module) {
		name := cmp.Or(c.Module, c.Name)
		if public(name, c.Language) && (root == "" || len(name) < len(root)) {
			root = name
		}
	}
	return root
}

// program is a block of code that is no command line.
var program = regexp.MustCompile("(?m)^ *```(?:go|python|py|pycon|js|javascript|jsx|ts|typescript|tsx|rust|rs)\\b")

// examples are those that do not stand in the README: its parts have their code with them.
func examples(all []docs.Claim) []docs.Claim {
	return slices.DeleteFunc(pick(all, docs.Example), func(c docs.Claim) bool {
		return strings.HasPrefix(strings.ToLower(path.Base(place(c).File)), "readme")
	})
}

// rank prefers the example of the whole project or module.
func rank(c docs.Claim) int {
	if c.Name == "" || strings.EqualFold(c.Name, "example") || c.Name == c.Module || strings.HasSuffix(c.Module, "/"+c.Name) {
		return 0
	}
	return 1
}

func (m *maker) guide(all []docs.Claim, title, project, brief string) []docs.Page {
	use := append(pick(all, docs.Requires, docs.Install), parts(all, project, using)...)
	use = append(use, pick(all, docs.Entry)...)
	// Examples of one function stand in the reference, beside it.
	shown := examples(all)
	own := slices.DeleteFunc(slices.Clone(shown), func(c docs.Claim) bool { return rank(c) > 0 })
	if len(own) == 0 && len(parts(all, project, using)) == 0 {
		own = first(shown, 3)
	}
	use = append(use, first(own, 12)...)
	if len(use) == 0 {
		return nil
	}
	return []docs.Page{m.page(title, brief, first(use, most), "guide")}
}

func (m *maker) contributing(all []docs.Claim, title, project, brief string) []docs.Page {
	use := append(parts(all, project, working), pick(all, docs.Convention)...)
	// A licence alone is told by the overview; what runs in CI alone helps nobody.
	if !slices.ContainsFunc(use, func(c docs.Claim) bool {
		return c.Kind == docs.Readme || c.Signature != "" || strings.Contains(strings.ToLower(place(c).File), "contributing")
	}) {
		return nil
	}
	use = append(use, pick(all, docs.Licence)...)
	return []docs.Page{m.page(title, brief, first(use, most), "contributing")}
}

// plain is a section that the user made up: its claims in order, on as many pages as
// that takes.
func (m *maker) plain(all []docs.Claim, name, title, brief string) []docs.Page {
	var out []docs.Page
	for chunk := range slices.Chunk(pick(all, kinds...), most) {
		if len(out) == 0 {
			out = append(out, m.page(title, brief, chunk, name))
			continue
		}
		out = append(out, m.page(title+", continued", brief, chunk, name, chunk[0].Name))
	}
	return out
}

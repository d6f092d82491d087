// Package plan turns the facts about a repository into a plan of its documentation:
// sections, their pages, and the claims that each page may use.
//
// It promises:
//
//   - It is a function: the same facts and options give the same plan, in whatever order
//     the claims come.
//   - Each id that a page names is a claim of the facts. A page has at least one, and at
//     most about 150; what is larger is split, by type where there are types.
//   - Paths are clean, lie in the folder of the documentation and differ also for those
//     who do not tell capitals from small letters.
//   - A page that exists is planned for an update and never taken for new. A section
//     without claims is left out.
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

// most is how many claims a page has, about.
const most = 150

// Options are what the recipe and the target say.
type Options struct {
	Title    string // of the documentation; empty: the name of the project
	DocsDir  string // folder of the pages in the target; empty: docs
	Sections []Wanted
	Exists   func(path string) bool // whether the target has a file; nil: it has none
}

// Wanted is a section that the recipe asks for.
type Wanted struct {
	Name, Title, Brief string
	// Claims are the kinds that it may use, each with a module behind a colon if only
	// those of the module are meant. None: those that suit a section of this name.
	Claims []string
}

// Default are the sections of a recipe that names none.
func Default() []Wanted {
	return []Wanted{
		{Name: "overview", Title: "Overview", Brief: "What the project is and where to read on, for someone who sees it for the first time."},
		{Name: "guide", Title: "Getting started", Brief: "From nothing to the first use, for someone who has decided to try it."},
		{Name: "reference", Title: "Reference", Brief: "Each public module with what it offers, for someone who uses it and looks something up."},
		{Name: "cli", Title: "Command line", Brief: "Each command with its flags, for someone at a terminal."},
		{Name: "contributing", Title: "Contributing", Brief: "How it is built and tested and under which licence, for someone who wants to change it."},
	}
}

var sectionName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// Make makes the plan, and the assignment of each of its sections in the same order.
func Make(f docs.Facts, o Options) (docs.Plan, []docs.Assignment, error) {
	m, err := newMaker(f, o)
	if err != nil {
		return docs.Plan{}, nil, err
	}
	p := docs.Plan{Title: cmp.Or(o.Title, f.Name, "Documentation"), Commit: f.Commit}
	wanted := o.Sections
	if len(wanted) == 0 {
		wanted = Default()
	}
	seen := map[string]bool{}
	for _, w := range wanted {
		if !sectionName.MatchString(w.Name) || seen[w.Name] {
			return docs.Plan{}, nil, fault.New(fault.InvalidRecipe, "plan section %q: a name has small letters, digits and hyphens, and comes once", w.Name)
		}
		seen[w.Name] = true
		s := docs.Section{Name: w.Name, Title: cmp.Or(w.Title, strings.ToUpper(w.Name[:1])+w.Name[1:]), Brief: w.Brief}
		if s.Pages, err = m.pages(w, s.Title, p.Title); err != nil {
			return docs.Plan{}, nil, err
		}
		if len(s.Pages) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	if len(p.Sections) == 0 {
		return docs.Plan{}, nil, fault.New(fault.NotFound, "plan documentation of %s: there is no claim that a page could use", cmp.Or(f.Name, "the project")).
			WithHint("the repository has no manifest, README or source that is understood; name the sections' claims in the recipe, or another repository")
	}
	m.relate(p.Sections)
	return p, m.assign(p, f.Name), nil
}

// maker makes one plan.
type maker struct {
	dir     string
	project string // its name
	root    string // the module that it is about
	exists  func(string) bool
	claims  []docs.Claim // by id
	byID    map[string]docs.Claim
	taken   map[string]bool // paths in small letters
}

func newMaker(f docs.Facts, o Options) (*maker, error) {
	dir := path.Clean(cmp.Or(o.DocsDir, "docs"))
	if path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../") || strings.ContainsAny(dir, "\\:\x00\n") ||
		slices.Contains(strings.Split(strings.ToLower(dir), "/"), ".git") {
		return nil, fault.New(fault.InvalidRecipe, "plan into %q: this is no folder of a repository's files", o.DocsDir).WithHint("name a folder of the target, such as docs")
	}
	m := &maker{dir: dir, project: cmp.Or(f.Name, o.Title, "Documentation"), exists: o.Exists, claims: slices.Clone(f.Claims), byID: map[string]docs.Claim{}, taken: map[string]bool{}}
	if m.exists == nil {
		m.exists = func(string) bool { return false }
	}
	for _, c := range m.claims {
		if _, twice := m.byID[c.ID]; twice || c.ID == "" {
			return nil, fault.New(fault.InvalidText, "plan documentation: two claims have the id %q", c.ID)
		}
		m.byID[c.ID] = c
	}
	slices.SortFunc(m.claims, func(a, b docs.Claim) int { return cmp.Compare(a.ID, b.ID) })
	m.root = root(m.claims)
	return m, nil
}

// assign gives each section the claims of its pages, and the titles it links to.
func (m *maker) assign(p docs.Plan, project string) []docs.Assignment {
	titles := map[string]string{}
	for _, s := range p.Sections {
		for _, page := range s.Pages {
			titles[page.Path] = page.Title
		}
	}
	var out []docs.Assignment
	for _, s := range p.Sections {
		a := docs.Assignment{Project: cmp.Or(project, p.Title), Section: s, Claims: map[string]docs.Claim{}, Titles: map[string]string{}}
		for _, page := range s.Pages {
			for _, id := range page.Claims {
				a.Claims[id] = m.byID[id]
			}
			for _, r := range page.Related {
				a.Titles[r] = titles[r]
			}
		}
		out = append(out, a)
	}
	return out
}

package plan_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ramet/internal/docs"
	"ramet/internal/docs/plan"
	"ramet/internal/fault"
)

var kinds = []docs.Kind{docs.Project, docs.Licence, docs.Readme, docs.Requires, docs.Install, docs.Entry, docs.Command, docs.Flag,
	docs.Module, docs.Function, docs.Type, docs.Method, docs.Value, docs.Example, docs.Convention}

// random are facts of any shape.
func random(r *rand.Rand) docs.Facts {
	f := docs.Facts{Name: []string{"p", "", "Con", "../x", "Ü b"}[r.IntN(5)], Commit: strings.Repeat("b", 40)}
	modules := []string{"a.b/p", "a.b/p/Doc", "a.b/p/doc", "a.b/p/internal/x", "p", "p.sub", "_p.x", "crate::a", "", "a.b/p/nul", "a.b/p/x", "a.b/p/y"}
	names := []string{"", "T", "T.M", "(*U).M", "Usage", "License", "Installation", "run", "A::b", "x#y", "Contributing", strings.Repeat("ü", 90)}
	for i := range 1 + r.IntN(600) {
		c := docs.Claim{ID: fmt.Sprintf("c%d", i), Kind: kinds[r.IntN(len(kinds))], Name: names[r.IntN(len(names))], Module: modules[r.IntN(len(modules))],
			Language: []string{"go", "python", ""}[r.IntN(3)], Text: []string{"", "Text.", "x\n```go\ny()\n```"}[r.IntN(3)], Signature: []string{"", "sig"}[r.IntN(2)]}
		if r.IntN(20) > 0 {
			c.Evidence = []docs.Evidence{{File: []string{"README.md", "a.go"}[r.IntN(2)], From: r.IntN(100), To: 100}}
		}
		f.Claims = append(f.Claims, c)
	}
	return f
}

// promised holds what the package promises against a plan.
func promised(t *testing.T, f docs.Facts, p docs.Plan, parts []docs.Assignment, dir string) {
	t.Helper()
	byID := map[string]docs.Claim{}
	for _, c := range f.Claims {
		byID[c.ID] = c
	}
	paths, folded := map[string]bool{}, map[string]bool{}
	for i, s := range p.Sections {
		if len(s.Pages) == 0 || !reflect.DeepEqual(parts[i].Section, s) {
			t.Errorf("section %s: no pages, or not as it is assigned", s.Name)
		}
		needs := map[string]bool{}
		for _, page := range s.Pages {
			if page.Title == "" || len(page.Claims) == 0 || len(page.Claims) > 150 || len(page.Claims) != len(slices.Compact(slices.Sorted(slices.Values(page.Claims)))) {
				t.Errorf("%s: title %q, %d claims", page.Path, page.Title, len(page.Claims))
			}
			if path.Clean(page.Path) != page.Path || !strings.HasPrefix(page.Path, dir+"/") || strings.Contains(page.Path, "..") || folded[strings.ToLower(page.Path)] {
				t.Errorf("path %q", page.Path)
			}
			paths[page.Path], folded[strings.ToLower(page.Path)] = true, true
			for _, id := range page.Claims {
				needs[id] = true
				if c, ok := parts[i].Claims[id]; !ok || !reflect.DeepEqual(c, byID[id]) {
					t.Errorf("claim %s is not assigned as it is", id)
				}
			}
		}
		if len(needs) != len(parts[i].Claims) {
			t.Errorf("section %s is given %d claims for %d", s.Name, len(parts[i].Claims), len(needs))
		}
	}
	for i, s := range p.Sections {
		for _, page := range s.Pages {
			for _, r := range page.Related {
				if !paths[r] || r == page.Path || parts[i].Titles[r] == "" {
					t.Errorf("%s points to %q", page.Path, r)
				}
			}
		}
	}
}

func TestPlansKeepTheirPromises(t *testing.T) {
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := random(r)
		o := plan.Options{DocsDir: []string{"docs", "a/b", "docs/"}[r.IntN(3)]}
		p, parts, err := plan.Make(f, o)
		if err != nil {
			if !strings.Contains(err.Error(), "no claim that a page could use") {
				t.Fatal(err)
			}
			continue
		}
		promised(t, f, p, parts, path.Clean(o.DocsDir))
		before := encoded(t, p)
		r.Shuffle(len(f.Claims), func(i, j int) { f.Claims[i], f.Claims[j] = f.Claims[j], f.Claims[i] })
		again, others, err := plan.Make(f, o)
		if err != nil || string(encoded(t, again)) != string(before) || !reflect.DeepEqual(parts, others) {
			t.Fatalf("seed %d: the order of claims makes another plan (%v)", seed, err)
		}
	}
}

func claims(n int, c docs.Claim) []docs.Claim {
	var out []docs.Claim
	for i := range n {
		one := c
		one.ID = fmt.Sprintf("%s.%s.%s-%d", c.Kind, strings.ToLower(c.Module), strings.ToLower(c.Name), i)
		one.Name = fmt.Sprintf("%s%03d", c.Name, i)
		out = append(out, one)
	}
	return out
}

func paths(p docs.Plan) []string {
	var out []string
	for _, s := range p.Sections {
		for _, page := range s.Pages {
			out = append(out, page.Path)
		}
	}
	return out
}

func make1(t *testing.T, o plan.Options, all ...[]docs.Claim) docs.Plan {
	t.Helper()
	f := docs.Facts{Name: "p", Claims: slices.Concat(all...)}
	p, parts, err := plan.Make(f, o)
	if err != nil {
		t.Fatal(err)
	}
	promised(t, f, p, parts, "docs")
	return p
}

func TestLargeModulesAreSplitByType(t *testing.T) {
	p := make1(t, plan.Options{},
		[]docs.Claim{{ID: "m", Kind: docs.Module, Name: "p", Module: "h/p"}, {ID: "t", Kind: docs.Type, Name: "Big", Module: "h/p"}, {ID: "u", Kind: docs.Type, Name: "Small", Module: "h/p"}},
		claims(30, docs.Claim{Kind: docs.Function, Name: "F", Module: "h/p"}), claims(200, docs.Claim{Kind: docs.Method, Name: "Big.M", Module: "h/p"}))
	want := []string{"docs/index.md", "docs/reference.md", "docs/reference/p.md", "docs/reference/p-big.md", "docs/reference/p-big-2.md", "docs/reference/p-small.md"}
	if got := paths(p); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSmallModulesShareAPageAndPrivateOnesHaveNone(t *testing.T) {
	var all []docs.Claim
	for _, m := range []string{"h/p/a", "h/p/b", "h/p/internal/c", "h/p/examples/d"} {
		all = append(all, claims(2, docs.Claim{Kind: docs.Function, Name: "F", Module: m})...)
	}
	all = append(all, claims(100, docs.Claim{Kind: docs.Function, Name: "G", Module: "h/p/big"})...)
	p := make1(t, plan.Options{}, all)
	if got, want := paths(p), []string{"docs/reference.md", "docs/reference/smaller.md", "docs/reference/big.md"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.Sections[0].Pages[1].Claims; len(got) != 4 {
		t.Errorf("the shared page has %q", got)
	}
}

func TestALargeCommandLineHasAPageForEachCommand(t *testing.T) {
	var all []docs.Claim
	for _, c := range []string{"app get", "app put"} {
		all = append(all, docs.Claim{ID: "command." + c[4:], Kind: docs.Command, Name: c, Module: "app"})
		all = append(all, claims(45, docs.Claim{Kind: docs.Flag, Name: "--f", Module: c})...)
	}
	p := make1(t, plan.Options{}, all)
	if got, want := paths(p), []string{"docs/cli.md", "docs/cli/app-get.md", "docs/cli/app-put.md"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPageThatExistsIsUpdated(t *testing.T) {
	f := docs.Facts{Name: "p", Claims: []docs.Claim{{ID: "a", Kind: docs.Project, Name: "description", Text: "It is."}}}
	p, _, err := plan.Make(f, plan.Options{DocsDir: "docs", Exists: func(p string) bool { return p == "docs/index.md" }})
	if err != nil || !p.Sections[0].Pages[0].Update {
		t.Errorf("%+v %v", p, err)
	}
}

func TestTheRecipesSections(t *testing.T) {
	f := docs.Facts{Name: "p", Claims: []docs.Claim{
		{ID: "f1", Kind: docs.Function, Name: "F", Module: "h/p"}, {ID: "f2", Kind: docs.Function, Name: "G", Module: "h/p/sub"}, {ID: "f3", Kind: docs.Function, Name: "G", Module: "h/px"},
	}}
	p, _, err := plan.Make(f, plan.Options{Sections: []plan.Wanted{{Name: "mine", Claims: []string{"function:h/p"}}, {Name: "none", Claims: []string{"flag"}}}})
	if err != nil || len(p.Sections) != 1 || p.Sections[0].Title != "Mine" || !slices.Equal(p.Sections[0].Pages[0].Claims, []string{"f1", "f2"}) {
		t.Errorf("%+v %v", p, err)
	}
	for _, bad := range []plan.Options{
		{Sections: []plan.Wanted{{Name: "mine"}}}, {Sections: []plan.Wanted{{Name: "mine", Claims: []string{"functions"}}}},
		{Sections: []plan.Wanted{{Name: "../x", Claims: []string{"function"}}}}, {Sections: []plan.Wanted{{Name: "cli"}, {Name: "cli"}}},
		{DocsDir: "../docs"}, {DocsDir: "/docs"}, {DocsDir: `a\b`}, {DocsDir: ".git/x"}, {DocsDir: "a/.GIT"},
	} {
		if _, _, err := plan.Make(f, bad); fault.CodeOf(err) != fault.InvalidRecipe {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, _, err := plan.Make(docs.Facts{Name: "p"}, plan.Options{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("no facts: %v", err)
	}
	f.Claims = append(f.Claims, f.Claims[0])
	if _, _, err := plan.Make(f, plan.Options{}); fault.CodeOf(err) != fault.InvalidText {
		t.Errorf("an id twice: %v", err)
	}
}

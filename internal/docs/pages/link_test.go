package pages

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/docs"
)

var guide = docs.Plan{Title: "tool", Commit: "c0ffee", Sections: []docs.Section{
	{Name: "overview", Title: "Overview", Pages: []docs.Page{{Path: "docs/index.md", Title: "tool", Claims: []string{"a"}}}},
	{Name: "use", Title: "Use", Pages: []docs.Page{
		{Path: "docs/start.md", Title: "Start", Claims: []string{"a", "b"}, Related: []string{"docs/ref/api.md", "docs/gone.md", "docs/start.md"}},
		{Path: "docs/more.md", Title: "More", Claims: []string{"b"}},
	}},
	{Name: "ref", Title: "Reference", Pages: []docs.Page{
		{Path: "docs/ref/api.md", Title: "API", Related: []string{"docs/start.md", "docs/index.md"}},
		{Path: "docs/gone.md", Title: "Gone"},
	}},
}}

func site(index string) map[string][]byte {
	return map[string][]byte{
		"docs/index.md": []byte(index), "docs/start.md": []byte("# Start\n\nBegin.\n"),
		"docs/more.md": []byte("# More [things]\n"), "docs/ref/api.md": []byte("# `api` & co_mpany\n\nSee [it](../start.md#x).\n"),
	}
}

func TestLinkAddsWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct{ index, want string }{
		"nothing yet": {"# tool\n\nA tool.\n", "# tool\n\nA tool.\n\n## Contents\n\n### Use\n\n- [Start](start.md)\n- [More \\[things\\]](more.md)\n\n### Reference\n\n- [api \\& co_mpany](ref/api.md)\n"},
		"before the rest": {"# tool\n\nA tool.\n\n## Why\n\nSo.\n\n[d]: x\n",
			"# tool\n\nA tool.\n\n## Contents\n\n### Use\n\n- [Start](start.md)\n- [More \\[things\\]](more.md)\n\n### Reference\n\n- [api \\& co_mpany](ref/api.md)\n\n## Why\n\nSo.\n\n[d]: x\n"},
		"all there": {"# tool\n\n[a](start.md), [b](./more.md#x) and <a href=\"/docs/ref/api.md\">c</a>.\n", "# tool\n\n[a](start.md), [b](./more.md#x) and <a href=\"/docs/ref/api.md\">c</a>.\n"},
		"a part there": {"# tool\n\n## contents\n\nWords.\n\n### Use\n\n* [first](start.md)\n\n### Mine\n\n- x\n\n## End\n",
			"# tool\n\n## contents\n\nWords.\n\n### Use\n\n* [first](start.md)\n* [More \\[things\\]](more.md)\n\n### Mine\n\n- x\n\n### Reference\n\n- [api \\& co_mpany](ref/api.md)\n\n## End\n"},
		"numbered":           {"# tool\n\n## Contents\n\n### Use\n\n1. [first](start.md)\n\n### Reference\n[x](ref/api.md)\n", "# tool\n\n## Contents\n\n### Use\n\n1. [first](start.md)\n\n- [More \\[things\\]](more.md)\n\n### Reference\n[x](ref/api.md)\n"},
		"DOS":                {"# tool\r\n\r\n[a](start.md) [b](more.md)\r\n", "# tool\r\n\r\n[a](start.md) [b](more.md)\r\n\r\n## Contents\r\n\r\n### Reference\r\n\r\n- [api \\& co_mpany](ref/api.md)\r\n"},
		"no line feed":       {"# tool\n\n[a](start.md) [b](more.md)", "# tool\n\n[a](start.md) [b](more.md)\n\n## Contents\n\n### Reference\n\n- [api \\& co_mpany](ref/api.md)\n"},
		"ends inside code":   {"# tool\n\n```\n[a](start.md)\n", "# tool\n\n```\n[a](start.md)\n"},
		"ends inside a note": {"# tool\n\n<!-- open\n", "# tool\n\n<!-- open\n"},
		"a link in code":     {"# tool\n\n[b](more.md) [c](ref/api.md) `[a](start.md)`\n", "# tool\n\n[b](more.md) [c](ref/api.md) `[a](start.md)`\n\n## Contents\n\n### Use\n\n- [Start](start.md)\n"},
		"a heading in a list": {"# tool\n\n- ## Contents\n\n[a](start.md) [b](more.md)\n",
			"# tool\n\n- ## Contents\n\n[a](start.md) [b](more.md)\n\n## Contents\n\n### Reference\n\n- [api \\& co_mpany](ref/api.md)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			in := site(c.index)
			out, added := Link(in, guide)
			if got := string(out["docs/index.md"]); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if got, want := string(out["docs/start.md"]), "# Start\n\nBegin.\n\n## See also\n\n- [api \\& co_mpany](ref/api.md)\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got, want := string(out["docs/ref/api.md"]), "# `api` & co_mpany\n\nSee [it](../start.md#x).\n\n## See also\n\n- [tool](../index.md)\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if string(out["docs/more.md"]) != "# More [things]\n" || string(in["docs/index.md"]) != c.index {
				t.Error("a page was changed that should not be")
			}
			again, none := Link(out, guide)
			if !maps.EqualFunc(out, again, slices.Equal) || len(none) != 0 {
				t.Errorf("a second time: %v\n%s", none, again["docs/index.md"])
			}
			if grown := strings.Count(string(out["docs/index.md"]), "\n"); len(added) > 0 && grown < strings.Count(c.index, "\n") {
				t.Error(added)
			}
		})
	}
}

func TestSeeAlsoGoesOn(t *testing.T) {
	in := site("# tool\n[a](start.md) [b](more.md) [c](ref/api.md)\n")
	in["docs/start.md"] = []byte("# Start\n\n## See also\n\n+ [x](http://x.y)\n\n### Deep\n\nText.\n")
	out, added := Link(in, guide)
	want := "# Start\n\n## See also\n\n+ [x](http://x.y)\n+ [api \\& co_mpany](ref/api.md)\n\n### Deep\n\nText.\n"
	if got := string(out["docs/start.md"]); got != want || added[0] != (Insert{"docs/start.md", 5, 1}) {
		t.Errorf("%s\n%v", got, added)
	}
}

func TestTheIndexIsMadeWhereNobodyPlannedOne(t *testing.T) {
	plan := docs.Plan{Title: "to*ol", Sections: []docs.Section{{Name: "a", Title: "A", Pages: []docs.Page{{Path: "docs/x y.md", Title: "X"}, {Path: "docs/b/z.md"}}}}}
	out, added := Link(map[string][]byte{"docs/x y.md": []byte("# X\n")}, plan)
	if got, want := string(out["docs/README.md"]), "# to\\*ol\n\n## Contents\n\n### A\n\n- [X](x%20y.md)\n"; got != want || len(added) != 0 {
		t.Errorf("%q %v", got, added)
	}
	if out, _ := Link(nil, plan); len(out) != 0 {
		t.Error("an index of nothing was made")
	}
	if got := Index(docs.Plan{}); got != "" {
		t.Error(got)
	}
	if got := Index(docs.Plan{Sections: []docs.Section{{Pages: []docs.Page{{Path: "a.md"}, {Path: "docs/b.md"}}}}}); got != "" { // the README of the repository is not ours
		t.Error(got)
	}
}

func TestComposeKeepsCitationsAtTheirLines(t *testing.T) {
	drafts := site("# tool\n\nA tool.<!-- claim: a -->\n\n## Why\n\nFast. <!-- claim: b -->\n")
	drafts["docs/start.md"] = []byte("# Start\n\nBegin.<!-- claim: -->\n")
	drafts["other.md"] = []byte("x <!-- claim: a -->\n")
	got := Compose(drafts, guide)
	index := got.Citations.Pages[0]
	lines := strings.Split(string(got.Pages["docs/index.md"]), "\n")
	if index.Path != "docs/index.md" || index.Section != "overview" || len(index.Claims) != 2 ||
		lines[index.Claims[0].Line-1] != "A tool." || lines[index.Claims[1].Line-1] != "Fast." {
		t.Errorf("%+v\n%s", index, got.Pages["docs/index.md"])
	}
	if len(got.Citations.Pages) != 4 || len(got.Problems) != 2 || got.Problems[0].Path != "docs/start.md" || got.Problems[0].Line != 3 || got.Problems[1].Path != "other.md" {
		t.Errorf("%+v", got.Problems)
	}
}

// TestComposeIsStable: whatever the pages are made of, going through them again changes
// nothing, and no word is lost.
func TestComposeIsStable(t *testing.T) {
	pieces := []string{"# Title\n", "## Contents\n", "## See also\n", "### Use\n", "Some words.\n", "- item\n", "\n", "\n", "* [s](start.md)\n", "1. one\n",
		"[a](ref/api.md) ", "`code` ", "```\n", "~~~\n", "<!-- claim: a -->", "<!-- claim: a -->\n", "<!-- claim -->\n", "<!-- open\n", "> quote\n", "| a | b |\n|---|---|\n",
		"    indented\n", "---\n", "===\n", "<div>\n", "</div>\n", "\t", "\r\n", "[x]: y\n", "`", "[^1]: note\n", "\\", "*", "é\n"}
	rapid.Check(t, func(t *rapid.T) {
		drafts := map[string][]byte{}
		for _, path := range []string{"docs/index.md", "docs/start.md", "docs/ref/api.md"} {
			drafts[path] = []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, path), ""))
		}
		once := Compose(drafts, guide)
		twice := Compose(once.Pages, guide)
		for path, page := range once.Pages {
			if string(twice.Pages[path]) != string(page) {
				t.Fatalf("%s\nfirst  %q\nsecond %q", path, page, twice.Pages[path])
			}
			left := words(page)
			for _, w := range words([]byte(strings.ReplaceAll(string(drafts[path]), "<!-- claim: a -->", " "))) {
				i := slices.Index(left, w)
				if i < 0 && !strings.ContainsAny(w, ">`") && w != "<!--" {
					if !strings.Contains(string(page), w) {
						t.Fatalf("%s: %q was lost\nfrom %q\nto   %q", path, w, drafts[path], page)
					}
				}
			}
		}
	})
}

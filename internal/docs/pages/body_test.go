package pages

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"ramet/internal/docs"
)

func TestBodySaysWhatChangedAndWhy(t *testing.T) {
	facts := docs.Facts{Claims: []docs.Claim{
		{ID: "a", Evidence: []docs.Evidence{{File: "main.go", From: 3, To: 9}, {File: "go.mod", From: 1, To: 1}}},
		{ID: "b", Evidence: []docs.Evidence{{File: "main.go", From: 3, To: 9}}},
	}}
	cited := docs.Citations{Pages: []docs.Cited{
		{Path: "docs/index.md", Claims: at(3, "a", 5, "a", 6, "b")},
		{Path: "docs/more.md", Claims: at(1, "b")},
	}}
	body := string(Body(guide, facts, cited, []string{"docs/x.png", "docs/index.md", "docs/index.md"}))
	want := "# Documentation of tool\n\nWritten from the source at commit `c0ffee`: 2 files changed, 3 facts cited.\n\n" +
		"## What changed\n\n### Overview\n\n| Page | Title | Facts cited |\n|---|---|---|\n| `docs/index.md` | tool | 2 |\n\n### Other files\n\n- `docs/x.png`\n\n" +
		"## Evidence\n\nFile and lines of the source that each page rests on:\n\n- `docs/index.md`: `main.go:3-9`, `go.mod:1`\n\n"
	if !strings.HasPrefix(body, want) {
		t.Errorf("%s\nwant\n%s", body, want)
	}
	for _, part := range []string{"## How to check", "git checkout c0ffee", "## How to go back", "git revert"} {
		if !strings.Contains(body, part) {
			t.Errorf("no %q in\n%s", part, body)
		}
	}
	if body := string(Body(guide, facts, cited, nil)); !strings.Contains(body, "Nothing: the pages") || strings.Contains(body, "## Evidence") {
		t.Error(body)
	}
}

func TestBodyFitsAForge(t *testing.T) {
	var plan docs.Plan
	var cited docs.Citations
	var facts docs.Facts
	var changed []string
	for i := range 3000 {
		id := fmt.Sprintf("c%d", i)
		path := fmt.Sprintf("docs/é%d.md", i)
		facts.Claims = append(facts.Claims, docs.Claim{ID: id, Evidence: []docs.Evidence{{File: "some/long/path/of/a/file.go", From: i + 1, To: i + 1}}})
		plan.Sections = append(plan.Sections, docs.Section{Title: "S", Pages: []docs.Page{{Path: path, Title: "T"}}})
		cited.Pages = append(cited.Pages, docs.Cited{Path: path, Claims: at(1, id)})
		changed = append(changed, path)
	}
	for _, n := range []int{200, 3000} {
		body := Body(plan, facts, cited, changed[:n])
		if len(body) > 65000 || !utf8.Valid(body) || (n == 200) != strings.Contains(string(body), "## How to go back") {
			t.Error(n, len(body))
		}
	}
}

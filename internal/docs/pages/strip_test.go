package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/docs"
)

func at(pairs ...any) []docs.CiteAt {
	var out []docs.CiteAt
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, docs.CiteAt{Line: pairs[i].(int), Claim: pairs[i+1].(string)})
	}
	return out
}

func TestStrip(t *testing.T) {
	for name, c := range map[string]struct {
		in, want string
		cites    []docs.CiteAt
		bad      int // the line of the problem; 0: none
	}{
		"nothing":             {"# A\n\nText.\n", "# A\n\nText.\n", nil, 0},
		"behind a sentence":   {"Parse reads.<!-- claim: go.f -->\n", "Parse reads.\n", at(1, "go.f"), 0},
		"spaces before":       {"Parse reads. \t <!-- claim: go.f -->\n", "Parse reads.\n", at(1, "go.f"), 0},
		"two on a line":       {"A.<!-- claim: a --> B. <!-- claim: b -->\n", "A. B.\n", at(1, "a", 1, "b"), 0},
		"two together":        {"A. <!-- claim: a --> <!-- claim: b -->\n", "A.\n", at(1, "a", 1, "b"), 0},
		"several ids":         {"A.<!-- claim: a, b.c-d_E -->\n", "A.\n", at(1, "a", 1, "b.c-d_E"), 0},
		"no spaces in it":     {"A.<!--claim:a-->\n", "A.\n", at(1, "a"), 0},
		"in the middle":       {"One <!-- claim: a --> two.\n", "One two.\n", at(1, "a"), 0},
		"within a word":       {"One<!-- claim: a -->two.\n", "Onetwo.\n", at(1, "a"), 0},
		"before the text":     {"<!-- claim: a -->     Text.\n", "Text.\n", at(1, "a"), 0},
		"alone":               {"# A\n\nText.\n<!-- claim: a -->\n\nMore.\n", "# A\n\nText.\n\nMore.\n", at(3, "a"), 0},
		"alone between blank": {"A.\n\n<!-- claim: a -->\n\nB.\n", "A.\n\nB.\n", at(1, "a"), 0},
		"alone at the top":    {"<!-- claim: a -->\n\n# A\n", "# A\n", at(1, "a"), 0},
		"alone at the end":    {"# A\n\nB.\n\n<!-- claim: a -->\n", "# A\n\nB.\n", at(3, "a"), 0},
		"no line feed":        {"B.\n\n<!-- claim: a -->", "B.\n", at(1, "a"), 0},
		"nothing but it":      {"<!-- claim: a -->\n", "", nil, 0},
		"no heading is made":  {"Text\n<!-- claim: a -->\n---\nMore.\n", "Text\n\n---\nMore.\n", at(1, "a"), 0},
		"list":                {"- a <!-- claim: a -->\n- b\n  <!-- claim: b -->\n- c\n", "- a\n- b\n- c\n", at(1, "a", 2, "b"), 0},
		"item of it alone":    {"- <!-- claim: a -->\n- b\n", "-\n- b\n", at(1, "a"), 0},
		"table":               {"| a | b |\n|---|---|\n| x | y <!-- claim: a --> |\n| z | `w` | <!-- claim: b -->\n", "| a | b |\n|---|---|\n| x | y |\n| z | `w` |\n", at(3, "a", 4, "b"), 0},
		"table, on a line":    {"| a |\n|---|\n| x |\n<!-- claim: a -->\n| y |\n", "| a |\n|---|\n| x |\n| y |\n", at(3, "a"), 0},
		"quote":               {"> A. <!-- claim: a -->\n> <!-- claim: b -->\n> B.\n", "> A.\n\n> B.\n", at(1, "a", 1, "b"), 0},
		"DOS":                 {"A. <!-- claim: a -->\r\n<!-- claim: b -->\r\n\r\nB.\r\n", "A.\r\n\r\nB.\r\n", at(1, "a", 1, "b"), 0},
		"lines are the clean": {"A.\n\n<!-- claim: a -->\n\nB.\n\n<!-- claim: b -->\n\nC.<!-- claim: c -->\n", "A.\n\nB.\n\nC.\n", at(1, "a", 3, "b", 5, "c"), 0},
		"html block":          {"<div>\n\nA.<!-- claim: a -->\n\n</div>\n", "<div>\n\nA.\n\n</div>\n", at(3, "a"), 0},
		"front matter":        {"---\ntitle: <!-- claim: a -->\n---\n\n# A\n", "---\ntitle: <!-- claim: a -->\n---\n\n# A\n", nil, 0},
		"unicode":             {"Größe: é.<!-- claim: a -->\n", "Größe: é.\n", at(1, "a"), 0},

		"fence":             {"```md\nA.<!-- claim: a -->\n```\n", "```md\nA.<!-- claim: a -->\n```\n", nil, 0},
		"open fence":        {"```\nA.<!-- claim: a -->\n", "```\nA.<!-- claim: a -->\n", nil, 0},
		"tildes":            {"~~~~\n<!-- claim: a -->\n```\n~~~~\n", "~~~~\n<!-- claim: a -->\n```\n~~~~\n", nil, 0},
		"fence in a list":   {"- x\n\n  ```\n  <!-- claim: a -->\n  ```\n", "- x\n\n  ```\n  <!-- claim: a -->\n  ```\n", nil, 0},
		"indented code":     {"A.\n\n    <!-- claim: a -->\n", "A.\n\n    <!-- claim: a -->\n", nil, 0},
		"inline code":       {"Write `<!-- claim: a -->` so.\n", "Write `<!-- claim: a -->` so.\n", nil, 0},
		"two backticks":     {"Write ``x ` <!-- claim: a -->`` so.\n", "Write ``x ` <!-- claim: a -->`` so.\n", nil, 0},
		"a lone backtick":   {"A ` B.<!-- claim: a -->\n", "A ` B.\n", at(1, "a"), 0},
		"escaped":           {"A \\<!-- claim: a -->\n", "A \\<!-- claim: a -->\n", nil, 0},
		"other comment":     {"A <!-- note: claim: a -->\n", "A <!-- note: claim: a -->\n", nil, 0},
		"in a comment":      {"<!-- note\n<!-- claim: a -->\n", "<!-- note\n<!-- claim: a -->\n", nil, 0},
		"claimed otherwise": {"<!-- claimant: a -->\n", "<!-- claimant: a -->\n", nil, 0},

		"no id":         {"A.\n\nB.<!-- claim: -->\n", "A.\n\nB.<!-- claim: -->\n", nil, 3},
		"two words":     {"B.<!-- claim: a b -->\n", "B.<!-- claim: a b -->\n", nil, 1},
		"no colon":      {"B.<!-- claim a -->\n", "B.<!-- claim a -->\n", nil, 1},
		"plural":        {"B.<!-- claims: a -->\n", "B.<!-- claims: a -->\n", nil, 1},
		"capitals":      {"B.<!-- CLAIM: a -->\n", "B.<!-- CLAIM: a -->\n", nil, 1},
		"over lines":    {"B.<!-- claim:\na -->\n", "B.<!-- claim:\na -->\n", nil, 1},
		"block, lines":  {"<!-- claim: a\n-->\n", "<!-- claim: a\n-->\n", nil, 1},
		"not closed":    {"A.<!-- claim: a ->\n\nB.\n", "A.<!-- claim: a ->\n\nB.\n", nil, 1},
		"block, open":   {"A.\n\n<!-- claim: a\n\nB.\n", "A.\n\n<!-- claim: a\n\nB.\n", nil, 3},
		"bad and moved": {"A.\n<!-- claim: a -->\n\nB.<!-- claim: -->\n", "A.\n\nB.<!-- claim: -->\n", at(1, "a"), 3},
		"strange id":    {"A.<!-- claim: a/b -->\n", "A.<!-- claim: a/b -->\n", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clean, cites, bad := Strip([]byte(c.in))
			if string(clean) != c.want {
				t.Errorf("got  %q\nwant %q", clean, c.want)
			}
			if !slices.Equal(cites, c.cites) {
				t.Errorf("cites %v, want %v", cites, c.cites)
			}
			line := 0
			if len(bad) > 0 {
				line = bad[0].Line
			}
			if line != c.bad || len(bad) > 1 {
				t.Errorf("problems %v, want one at line %d", bad, c.bad)
			}
			again, none, _ := Strip(clean)
			if string(again) != string(clean) || len(none) != 0 {
				t.Errorf("a second time: %q %v", again, none)
			}
		})
	}
}

func TestStripKeepsTooLargePages(t *testing.T) {
	page := []byte(strings.Repeat("Text. <!-- claim: a -->\n", 40_000))
	clean, cites, bad := Strip(page)
	if len(clean) != len(page) || cites != nil || len(bad) != 1 || !strings.Contains(bad[0].Message, "limit") {
		t.Error(len(clean), len(cites), bad)
	}
}

// words are what a reader sees of a page, markers aside.
func words(page []byte) []string {
	return strings.Fields(string(page))
}

var anyMarker = regexp.MustCompile(`<!--[ \t]*claim:[ \t]*[A-Za-z0-9._-]+(?:[ \t]*,[ \t]*[A-Za-z0-9._-]+)*[ \t]*-->`)

// bare is a page without markers, wherever they are, white space and marks of quotes.
func bare(page string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n>", r) {
			return -1
		}
		return r
	}, anyMarker.ReplaceAllString(page, ""))
}

// FuzzStrip holds Strip against what it promises, whatever the page.
func FuzzStrip(f *testing.F) {
	for _, s := range []string{
		"", "# A\n\nB.<!-- claim: a -->\n", "`<!-- claim: a -->`", "- x\n<!-- claim: a -->\n    <!-- claim: b -->\n",
		"> <!-- claim: a\n> -->\n", "<!--<!-- claim: a -->", "|a|b|\n|-|-|\n|`x\\|<!-- claim: a -->`|\n", "\t<!-- claim: a -->\x00\r",
		"[x](<!-- claim: a -->)", "<!-- claim: a --><!-- claim: b -->\n===\n", "---\na: b\n---\n<!-- claim: a -->", "[^1]: <!-- claim: a -->\n[^1]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<14 {
			return
		}
		clean, cites, bad := Strip([]byte(in))
		lines := strings.Count(string(clean), "\n") + 1
		for _, c := range cites {
			if c.Line < 1 || c.Line > lines || c.Claim == "" {
				t.Fatalf("%q: citation %+v of %d lines", in, c, lines)
			}
		}
		for _, b := range bad {
			if b.Line < 1 || b.Line > lines {
				t.Fatalf("%q: problem %+v of %d lines", in, b, lines)
			}
		}
		if want, got := bare(in), bare(string(clean)); got != want {
			t.Fatalf("%q became %q", in, clean)
		}
		again, _, _ := Strip(clean)
		if string(again) != string(clean) {
			t.Fatalf("%q: once %q, twice %q", in, clean, again)
		}
	})
}

func ExampleStrip() {
	clean, cites, _ := Strip([]byte("# Parse\n\nParse reads a line. <!-- claim: go.func.parse -->\n"))
	fmt.Printf("%s%+v\n", clean, cites)
	// Output:
	// # Parse
	//
	// Parse reads a line.
	// [{Line:3 Claim:go.func.parse}]
}

package scribe

import (
	"strings"
	"testing"
)

func TestIssuesAreMended(t *testing.T) {
	page := Page{Path: "docs/a.md", Title: "A page"}
	pages := []string{"docs/a.md", "docs/reference/parse.md", "docs/b.md"}
	for _, c := range []struct {
		code, message string
		line          int
		in, want      string // "" for want: nothing can be done
	}{
		{"LINK_MISSING", `link "gone.md": there is no such file`, 0, "# A\n\nSee [this `x`](gone.md) and [that](b.md).\n\n```\n[this](gone.md)\n```\n", "# A\n\nSee this `x` and [that](b.md).\n\n```\n[this](gone.md)\n```\n"},
		{"LINK_MISSING", `link "parse.md#x": there is no such file`, 0, "See [p](parse.md#x).\n", "See [p](reference/parse.md).\n"},
		{"LINK_CASE", `link "B.md": there is "docs/b.md" only; capital letters matter`, 0, "See [b](B.md).\n", "See [b](b.md).\n"},
		{"LINK_ANCHOR", `link "b.md#nope": the page has no such heading`, 0, "See [b](b.md#nope).\n", "See [b](b.md).\n"},
		{"LINK_ANCHOR", `link "#nope": the page has no such heading`, 0, "See [b](#nope).\n", "See b.\n"},
		{"LINK_FORBIDDEN", `link "javascript:x": javascript: addresses do not belong`, 0, "See [b](javascript:x).\n", "See b.\n"},
		{"LINK_SYNTAX", `link "http://a:b": it is no valid address`, 0, "See <http://a:b>.\n", "See `http://a:b`.\n"},
		{"LINK_UNDEFINED", `link to "r": the page does not define it`, 0, "See [b][r].\n", "See b.\n"},
		{"LINK_MISSING", `link "elsewhere.md": there is no such file`, 0, "See [b](b.md).\n", ""},
		{"MD_LINK_EMPTY", `link "b" leads nowhere`, 0, "See [b]() and [c](#).\n", "See b and c.\n"},
		{"CLAIM_UNKNOWN", `claim "no.such" does not exist`, 0, "# A\n\nTrue.<!-- claim: a -->\n\nWrong,\nreally.<!-- claim: no.such -->\n\nEnd.\n", "# A\n\nTrue.<!-- claim: a -->\n\nEnd.\n"},
		{"CLAIM_EVIDENCE", `the evidence of claim no.such does not hold: x`, 0, "# A\n\n## B\n\n- one<!-- claim: a -->\n- two\n  more<!-- claim: no.such -->\n\n## C\n\n```go\nx\n```\n\n<!-- claim: no.such -->\n\n## D\n\nx\n", "# A\n\n## B\n\n- one<!-- claim: a -->\n\n## D\n\nx\n"},
		{"CLAIM_NOT_OF_PAGE", `claim b is not one of this page's`, 0, "One.<!-- claim: a --> Two.<!-- claim: b --> Three.<!-- claim: c -->\n", "One.<!-- claim: a --> Three.<!-- claim: c -->\n"},
		{"CLAIM_NOT_OF_PAGE", `claim b is not one of this page's`, 0, "# A\n\n| x |\n| --- |\n| y |\n\n<!-- claim: a -->\n<!-- claim: b -->\n\nEnd.\n", "# A\n\n| x |\n| --- |\n| y |\n\n<!-- claim: a -->\n\nEnd.\n"},
		{"MD_HEADING_JUMP", `heading "C" is of level 4`, 0, "# A\n\n#### C\n\n##### D\n", "# A\n\n## C\n\n### D\n"},
		{"MD_MANY_TITLES", `a second title, "C"`, 0, "# A\n\nx\n\n# C\n\n## D\n", "# A\n\nx\n\n## C\n\n## D\n"},
		{"MD_HEADING_EMPTY", "a heading has no text", 0, "# A\n\n##\n\nx\n", "# A\n\nx\n"},
		{"MD_NO_TITLE", "the page has no title", 0, "<!-- ramet:begin x -->\n\nWords.\n", "<!-- ramet:begin x -->\n\n# A page\n\nWords.\n"},
		{"MD_TEXT_BEFORE_TITLE", "something stands before the title", 0, "Words.\n\n# A\n\nMore.\n", "# A\n\nWords.\n\nMore.\n"},
		{"MD_FENCE_OPEN", "a code block is not closed", 0, "# A\n\n````go\nx\n```\n\n<!-- ramet:end x -->\n", "# A\n\n````go\nx\n```\n````\n\n<!-- ramet:end x -->\n"},
		{"MD_CLAIM_MARKER", "a claim marker was left", 0, "One.<!-- claim: A B --> Two.<!-- claim: c -->\n", "One. Two.<!-- claim: c -->\n"},
		{"MD_WRAPPED", "the whole page stands in a code block", 0, "```markdown\n# A\n\nx\n```\n", "# A\n\nx\n"},
		{"MD_TABLE_COLUMNS", "a row has 1 cells", 0, "| a | b |\n| --- | --- |\n| x |\n", "| a | b |\n| --- | --- |\n| x | |\n"},
		{"MD_HTML", "<T> is read as HTML", 3, "# A\n\nA <T> and `<U>`.\n", "# A\n\nA &lt;T&gt; and `<U>`.\n"},
		{"SECRET", "this looks like a secret (x)", 5, "# A\n\n```sh\nx\n```\n\n<!-- claim: a -->\n\nKey ghp_x.<!-- claim: b -->\n", ""},
		{"SECRET", "this looks like a secret (x)", 7, "# A\n\n```sh\nx\n```\n\n<!-- claim: a -->\n\nKey ghp_x.<!-- claim: b -->\n\nEnd.\n", "# A\n\n```sh\nx\n```\n\n<!-- claim: a -->\n\nEnd.\n"},
		{"SECRET", "this looks like a secret (x)", 4, "# A\n\n```sh\ntoken=x\nrun\n```\n", "# A\n\n```sh\nrun\n```\n"},
		{"MD_NO_FINAL_NEWLINE", "the last line does not end", 0, "# A\n\nx", "# A\n\nx\n"},
		{"LIMIT_LINES", "the file has more than 10 lines", 0, "# A\n", ""},
		{"PATH_OUTSIDE", "the file may not be changed", 0, "# A\n", ""},
		{"MADE_UP", "something", 0, "# A\n", ""},
	} {
		got, did := Repair(Issue{Code: c.code, Message: c.message, Line: c.line}, page, pages, c.in)
		if c.want == "" {
			if did != "" {
				t.Errorf("%s: %s in %q: %+v", c.code, did, c.in, got)
			}
			continue
		}
		if did == "" || strings.Count(c.in, got.Old) != 1 {
			t.Errorf("%s in %q: %q, %+v", c.code, c.in, did, got)
			continue
		}
		after := strings.Replace(c.in, got.Old, got.New, 1)
		if after != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.code, after, c.want)
		}
	}
}

func TestTheIssueIsReadUpToItsProblem(t *testing.T) {
	order := "Mend one issue in the documentation.\n\nGate: links\nCode: LINK_MISSING\nFile: docs/a.md\nLine: 12\nProblem: link \"x\"\nFile: docs/b.md\nCode: SECRET\n\n```json\n{\"sections\":[{\"name\":\"x\",\"pages\":[{\"path\":\"docs/a.md\"},{\"path\":\"../b.md\"}]}]}\n```\n"
	i, s, why, ok := Mend(order)
	if !ok || why != "" || i.Code != "LINK_MISSING" || i.Line != 12 || len(i.Files) != 1 || i.Message != `link "x"` || len(s) != 1 || len(s[0].Pages) != 1 {
		t.Errorf("%+v %+v %q %v", i, s, why, ok)
	}
	for _, bad := range []string{"Code: X\n", "Problem: x\n", "Code: X\nProblem: x\n", "Code: X\nProblem: x\n```json\n[\n```\n"} {
		if _, _, why, ok := Mend("Mend one issue in the documentation of x.\n" + bad); !ok || why == "" {
			t.Errorf("%q is taken for an order in full", bad)
		}
	}
}

// Any page and any issue: what is changed stands on the page once.
func FuzzRepair(f *testing.F) {
	for code := range rules {
		f.Add(code, `link "b.md#x": claim "a" "docs/c.md"`, 3, "# A\n\n[x](b.md#x)<!-- claim: a -->\n\n```\ny\n")
		f.Add(code, `claim a`, 1, "---\n- x\n  <b>y</b><!-- claim: a -->\n|a|\n#\n# \n===\n<!-- claim: a -->")
	}
	f.Fuzz(func(t *testing.T, code, message string, line int, page string) {
		c, did := Repair(Issue{Code: code, Message: message, Line: line}, Page{Path: "docs/a.md", Title: "A"}, []string{"docs/a.md", "docs/b.md"}, page)
		if did != "" && (c.Old == "" || c.Old == c.New || strings.Count(page, c.Old) != 1) {
			t.Fatalf("%s: %+v", did, c)
		}
	})
}

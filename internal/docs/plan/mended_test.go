package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/docs/check"
)

// project is a small one on disk.
func project(t *testing.T) string {
	t.Helper()
	dir := realDir(t)
	put(t, filepath.Join(dir, "go.mod"), "module h.org/lines\n\ngo 1.22\n")
	put(t, filepath.Join(dir, "README.md"), "# lines\n\nLines reads lines.\n\n## Usage\n\nRead one:\n\n```go\nlines.Parse(r)\n```\n")
	put(t, filepath.Join(dir, "lines.go"), "// Package lines reads lines.\npackage lines\n\n// Max is how long a line may be.\nconst Max = 10\n\n// Line is a <line>.\ntype Line struct{}\n\n// Len is its length.\nfunc (l *Line) Len() int { return 0 }\n\n// Parse reads a line.\nfunc Parse(s string) *Line { return nil }\n")
	put(t, filepath.Join(dir, "LICENSE"), "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n")
	return dir
}

// What a gate finds is mended by the model, so that the gate finds it no more.
func TestWhatTheGatesFindIsMended(t *testing.T) {
	repo := project(t)
	f := factsOf(t, repo, "lines")
	for _, c := range []struct{ name, gate, code, file, old, new string }{
		{"a link to nowhere", "links", "LINK_MISSING", "docs/index.md", "Lines reads lines.", "Lines reads [lines](gone.md)."},
		{"a link to a page elsewhere", "links", "LINK_MISSING", "docs/guide.md", "How to get", "See [there](x/reference.md). How to get"},
		{"a heading that is not there", "links", "LINK_ANCHOR", "docs/guide.md", "How to get", "See [there](reference.md#nope). How to get"},
		{"a claim that nobody made", "claims", "CLAIM_UNKNOWN", "docs/reference.md", "Parse reads a line.", "Parse is the best.<!-- claim: go.none -->\n\nParse reads a line."},
		{"another page's claim", "claims", "CLAIM_NOT_OF_PAGE", "docs/guide.md", "How to get lines", "Its length.<!-- claim: go.method.lines.line.len -->\n\nHow to get lines"},
		{"headings out of order", "markdown", "MD_HEADING_JUMP", "docs/guide.md", "## See also", "#### See also"},
		{"two titles", "markdown", "MD_MANY_TITLES", "docs/guide.md", "## See also", "# See also"},
		{"no title", "markdown", "MD_NO_TITLE", "docs/guide.md", "# Getting started\n\n", ""},
		{"code without an end", "markdown", "MD_FENCE_OPEN", "docs/guide.md", "## See also", "```sh\n## See also"},
		{"a tag", "markdown", "MD_HTML", "docs/guide.md", "How to get lines", "How to get <line> lines"},
		{"a script", "markdown", "MD_HTML_HARMFUL", "docs/guide.md", "How to get lines", "How to get <script> lines"},
		{"no end", "markdown", "MD_NO_FINAL_NEWLINE", "docs/guide.md", "<!-- ramet:end guide -->\n", "<!-- ramet:end guide -->"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, realDir(t), f)
			d.draft()
			file := filepath.Join(d.dir, filepath.FromSlash(c.file))
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(page), c.old) != 1 {
				t.Fatalf("%q stands %d times in\n%s", c.old, strings.Count(string(page), c.old), page)
			}
			put(t, file, strings.Replace(string(page), c.old, c.new, 1))
			found, _ := d.inspect(f, os.DirFS(repo))
			for tries := 0; len(found[c.gate]) > 0 && tries < 3; tries++ {
				if tries == 0 && found[c.gate][0].Code != c.code {
					t.Fatalf("found %+v", found)
				}
				said := d.mend(found[c.gate][0], c.gate)
				if !strings.HasPrefix(said, "[offline model] ") || strings.Contains(said, "cannot") {
					t.Fatal(said)
				}
				found, _ = d.inspect(f, os.DirFS(repo))
			}
			for gate, left := range found {
				if len(left) > 0 {
					after, _ := os.ReadFile(file)
					t.Errorf("%s: %+v\n%s", gate, left, after)
				}
			}
		})
	}
}

func TestWhatCannotBeMendedIsTold(t *testing.T) {
	d := newDesk(t, realDir(t), factsOf(t, project(t), "lines"))
	d.draft()
	before := d.written()
	for _, f := range []check.Finding{
		{Code: "LIMIT_LINES", File: "docs/guide.md", Message: "the file has more than 10 lines"},
		{Code: "LINK_MISSING", File: "README.md", Message: `link "x": there is no such file`},
		{Code: "PATH_OUTSIDE", File: "../x.md", Message: "the file may not be changed"},
		{Code: "SECRET", File: "docs/guide.md", Line: 9999, Message: "this looks like a secret"},
	} {
		if said := d.mend(f, "x"); !strings.Contains(said, "can") || !strings.Contains(said, f.Message) {
			t.Errorf("%+v: %s", f, said)
		}
	}
	for p, page := range d.written() {
		if string(before[p]) != string(page) {
			t.Errorf("%s was changed", p)
		}
	}
}

// Pages that are there are read and keep what others wrote; a second time changes nothing.
func TestPagesThatExistAreBroughtUpToDate(t *testing.T) {
	f := factsOf(t, project(t), "lines")
	dir := realDir(t)
	long := "# Our own\n\n" + strings.Repeat("A line of theirs.\n\n", 1500) + "The end.\n"
	put(t, filepath.Join(dir, "docs", "guide.md"), long)
	put(t, filepath.Join(dir, "docs", "index.md"), "\n")
	d := newDesk(t, dir, f)
	put(t, filepath.Join(dir, "docs", "reference.md"), "# Came in between\n") // planned as new
	d.draft()
	first := d.written()
	if got := string(first["docs/guide.md"]); !strings.HasPrefix(got, strings.TrimSuffix(long, "\n")) || !strings.Contains(got, "\n## Getting started\n") {
		t.Errorf("guide.md: %.200q … (%s)", got, d.reports)
	}
	if got := string(first["docs/reference.md"]); !strings.HasPrefix(got, "# Came in between\n\n<!-- ramet:begin reference -->\n\n## API reference\n") {
		t.Errorf("reference.md: %.200q (%s)", got, d.reports)
	}
	if got := string(first["docs/index.md"]); !strings.HasPrefix(got, "<!-- ramet:begin overview -->\n\n# lines\n") {
		t.Errorf("index.md: %.200q (%s)", got, d.reports)
	}
	again := newDesk(t, dir, f)
	again.draft()
	for p, page := range again.written() {
		if string(first[p]) != string(page) {
			t.Errorf("%s changed again", p)
		}
	}
	if found, _ := again.inspect(f, os.DirFS(dir)); len(found["markdown"])+len(found["links"]) > 0 {
		t.Errorf("%+v", found)
	}
}

package runner

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// library is a tree to link in.
func library(page string) *CheckSite {
	s := treeCheck("docs/a.md", page,
		"docs/b.md", "# The Title\n\n## `code` & more_words!\n\n## Twice\n\n## Twice\n\n### Größe 日本 🚀 go\n\n## a--b  c\n\nUnder\n---\n\n<a name=\"old\"></a>\n\n## [Link](x) *em* ![i](y)\n",
		"docs/sub/README.md", "# Sub\n", "docs/sp ace (1).md", "# S\n", "docs/100%.md", "# P\n", "main.go", "package main\n\nfunc main() {}\n", "img/x.png", "", "README.md", "# R\n", "empty/.keep", "")
	s.Changes = s.Changes[:1]
	return s
}

func TestLinks(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"page":                  {"[x](b.md) [x](./b.md) [x](../README.md) [x](/README.md) [x](sub/README.md)", ""},
		"itself":                {"# Here\n\n[x](#here) [x](a.md#here) [x](#top)", ""},
		"folder":                {"[x](sub) [x](sub/) [x](..) [x](.) [x](/) [x](/docs/) [x](../empty)", ""},
		"file":                  {"[x](../main.go) [x](../main.go#L1) [x](../main.go#L1-L3) [x](/main.go#L2C1-L3C2)", ""},
		"image":                 {"![x](../img/x.png) <img src=\"../img/x.png\" alt=\"x\">", ""},
		"escaped":               {"[x](sp%20ace%20%281%29.md) [x](<sp ace (1).md>) [x](100%25.md) [x](sp%20ace%20(1).md)", ""},
		"query":                 {"![x](../img/x.png?raw=true)", ""},
		"title":                 {"[x](b.md \"words\")", ""},
		"reference":             {"[x][r], [r] and [r][].\n\n[r]: b.md \"t\"", ""},
		"anchors":               {"[x](b.md#the-title) [x](b.md#code--more_words) [x](b.md#twice) [x](b.md#twice-1) [x](b.md#a--b--c) [x](b.md#under) [x](b.md#old) [x](b.md#link-em-)", ""},
		"anchors, other tongue": {"[x](b.md#größe-日本--go) [x](b.md#gr%C3%B6%C3%9Fe-%E6%97%A5%E6%9C%AC--go)", ""},
		"anchor of a folder":    {"[x](sub/#sub) [x](sub#sub)", ""},
		"elsewhere":             {"<https://x.y/z> https://a.b [x](http://x.y/a%20b?c=d#e) [m](mailto:a@b.c) <a@b.c> [t](tel:+1)", ""},
		"in code":               {"`[x](gone.md)`\n\n```\n[x](gone.md) [a][b]\n```", ""},
		"index of an array":     {"m[i][j] and \\[a][b] and a[b] [c]", ""},
		"escaped bracket":       {"[x](b\\.md)", ""},

		"gone":             {"[x](gone.md)", "LINK_MISSING:1"},
		"gone image":       {"a\n\n![x](gone.png)", "LINK_MISSING:3"},
		"gone in HTML":     {"<a href=\"gone.md\">x</a>", "LINK_MISSING:1"},
		"gone reference":   {"a [x][r]\n\n[r]: gone.md", "LINK_MISSING:1"},
		"capitals":         {"[x](B.md)", "LINK_CASE:1"},
		"capitals, folder": {"[x](SUB/readme.md)", "LINK_CASE:1"},
		"file as folder":   {"[x](b.md/)", "LINK_MISSING:1"},
		"below a file":     {"[x](b.md/c)", "LINK_MISSING:1"},
		"outside":          {"[x](../../x) [y](/../x)", "LINK_OUTSIDE:1"},
		"outside, encoded": {"[x](..%2f..%2fx)", "LINK_OUTSIDE:1"},
		"git":              {"[x](/.git/config)", "LINK_MISSING:1"},
		"no anchor":        {"[x](#gone) [x](b.md#gone) [x](b.md#The-Title) [x](b.md#twice-2)", "LINK_ANCHOR:1"},
		"no lines":         {"[x](../main.go#L4) [x](../main.go#L1-L9) [x](../main.go#L0)", "LINK_ANCHOR:1"},
		"folder's anchor":  {"[x](../empty#a)", "LINK_ANCHOR:1"},
		"backslash":        {"[x](sub\\README.md)", "LINK_SYNTAX:1"},
		"percent":          {"[x](100%.md)", "LINK_SYNTAX:1"},
		"no host":          {"[x](http://) [y](https:///a)", "LINK_SYNTAX:1"},
		"password":         {"[x](https://u:p@h/)", "LINK_SYNTAX:1"},
		"spaces":           {"[x](<https://a b>)", "LINK_SYNTAX:1"},
		"no mail":          {"[x](mailto:a)", "LINK_SYNTAX:1"},
		"script":           {"[x](javascript:alert) [y](JaVaScript:x)", "LINK_FORBIDDEN:1"},
		"script, entity":   {"[x](java&#115;cript:x)", "LINK_FORBIDDEN:1"},
		"data":             {"![x](data:image/png;base64,AA)", "LINK_FORBIDDEN:1"},
		"local file":       {"[x](file:///etc/passwd)", "LINK_FORBIDDEN:1"},
		"no scheme":        {"[x](//h/x)", "LINK_SCHEME:1"},
		"strange":          {"[x](gopher://h)", "LINK_SCHEME:1"},
		"undefined":        {"See [the page][r].", "LINK_UNDEFINED:1"},
		"undefined, short": {"See [the page][].", "LINK_UNDEFINED:1"},
		"undefined, later": {"a\nb ![the page][r].", "LINK_UNDEFINED:2"},
	} {
		t.Run(name, func(t *testing.T) {
			found := CheckLinks(library(c.in + "\n"))
			sound(t, found)
			got := slices.Compact(toldCheck(found))
			want := []string{}
			for _, w := range strings.Fields(c.want) {
				code, line, _ := strings.Cut(w, ":")
				want = append(want, code+" docs/a.md:"+line)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", found, want)
			}
		})
	}
}

func TestLinksThroughASymbolicLinkLeadNowhere(t *testing.T) {
	s := library("[x](out/passwd) [y](out)\n")
	s.Tree.(fstest.MapFS)["docs/out"] = &fstest.MapFile{Data: []byte("/etc"), Mode: 0o777 | 1<<27}
	if got := toldCheck(CheckLinks(s)); !slices.Equal(got, []string{"LINK_MISSING docs/a.md:1"}) {
		t.Error(got)
	}
}

func FuzzLinks(f *testing.F) {
	for _, s := range []string{"[x](b.md#a)", "[x][y]\n\n[y]: %zz", "![](../../..)", "<a href='\\'>", "[x](</ /../>)", "[a]: <b\n[a]", "[x](#%ff)", "https://[::1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<12 {
			return
		}
		lines := strings.Count(in, "\n") + 1
		found := CheckLinks(library(in))
		for _, f := range found {
			if f.Line < 1 || f.Line > lines || f.File != "docs/a.md" {
				t.Fatalf("%q: %+v", in, f)
			}
		}
		if !slices.Equal(found, CheckLinks(library(in))) {
			t.Fatalf("%q: not the same twice", in)
		}
	})
}

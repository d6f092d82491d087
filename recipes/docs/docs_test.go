package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/internal/files/git"
	"ramet/internal/testkit"
)

// stage is a repository, and the folder of a run over it.
type stage struct {
	t    *testing.T
	repo string
	in   string // inputs
	tree git.Tree
	vars map[string]string
}

var greet = map[string]string{
	"go.mod":    "module example.org/greet\n\ngo 1.22\n",
	"greet.go":  "// Package greet greets people.\npackage greet\n\n// Hello greets somebody by name.\nfunc Hello(name string) string { return \"Hello, \" + name }\n",
	"README.md": "# greet\n\nGreets people, by name. See [more](x.md).\n\n## Install\n\n```sh\ngo get example.org/greet\n```\n",
	"a/b.txt":   "theirs\n",
}

const sections = `[{"name":"overview","title":"Overview","brief":"b"},{"name":"guide","title":"Getting started","brief":"b"}]`

func files(dir string, all map[string]string) error {
	for name, text := range all {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if to, link := strings.CutPrefix(text, "link: "); link {
			if err := os.Symlink(to, at); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func newStage(t *testing.T, all map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, repo: t.TempDir(), in: t.TempDir(), vars: map[string]string{"sections": sections}}
	testkit.OK(t, files(s.repo, all))
	s.git("init", "-q", "-b", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	head := s.git("rev-parse", "HEAD")
	base, err := git.Bundle(t.Context(), git.Tree{Dir: s.repo}, head, filepath.Join(s.in, baseFile))
	if err == nil {
		_, err = git.Bundle(t.Context(), git.Tree{Dir: s.repo}, head, filepath.Join(s.in, sourceFile))
	}
	if err == nil {
		err = files(s.in, map[string]string{inputsFile: `{"inputs":[{"name":"repo","commit":"` + head + `"}],"base":"` + base + `","source":"` + base + `"}`})
	}
	testkit.OK(t, err)
	s.tree = s.fresh(base)
	return s
}

func (s *stage) git(args ...string) string {
	s.t.Helper()
	return testkit.Git(s.t, s.repo, args...)
}

// fresh is a tree of the base.
func (s *stage) fresh(base string) git.Tree {
	t := git.Tree{Dir: filepath.Join(s.t.TempDir(), "tree"), Git: filepath.Join(s.t.TempDir(), "git")}
	testkit.OK(s.t, git.FromBundle(s.t.Context(), filepath.Join(s.in, baseFile), base, t))
	return t
}

// call calls a program; what it makes becomes an input.
func (s *stage) call(name string) (string, error) {
	s.t.Helper()
	dir := s.tree.Dir
	if name == "plan" {
		dir = s.t.TempDir()
	}
	var out bytes.Buffer
	err := Programs[name](s.t.Context(), Call{Dir: dir, Inputs: s.in, Temp: s.t.TempDir(), Value: func(n string) string { return s.vars[n] }, Stdout: &out})
	if _, there := os.Stat(filepath.Join(dir, "artifacts")); there == nil {
		testkit.OK(s.t, os.CopyFS(filepath.Join(s.in, "artifacts-"), os.DirFS(filepath.Join(dir, "artifacts"))))
		moved, _ := filepath.Glob(filepath.Join(s.in, "artifacts-", "*"))
		for _, from := range moved {
			to := filepath.Join(s.in, "artifacts", filepath.Base(from))
			os.RemoveAll(to)
			testkit.OK(s.t, os.Rename(from, to))
		}
		os.RemoveAll(filepath.Join(s.in, "artifacts-"))
		os.RemoveAll(filepath.Join(dir, "artifacts"))
	}
	return out.String(), err
}

func (s *stage) plan() Plan {
	s.t.Helper()
	testkit.Must(s.call("plan"))(s.t)
	var p Plan
	data, err := os.ReadFile(filepath.Join(s.in, planFile))
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	testkit.OK(s.t, err)
	return p
}

// draft is what a writer changed.
func (s *stage) draft(name string, all map[string]string) {
	s.t.Helper()
	var in pins
	c := Call{Inputs: s.in}
	testkit.OK(s.t, c.read(inputsFile, &in))
	t := s.fresh(in.Base)
	testkit.OK(s.t, files(t.Dir, all))
	patch, err := git.Diff(s.t.Context(), t)
	if err == nil {
		err = files(s.in, map[string]string{"drafts/" + name + ".patch": string(patch)})
	}
	testkit.OK(s.t, err)
}

const overview = "# greet\n\nGreets people, by name. <!-- cite: README.md:3 -->\n\n## Read on\n\n- [Getting started](guide.md)\n- [example.org/greet](reference.md)\n"

// written is a stage whose pages are in order.
func written(t *testing.T, all map[string]string) *stage {
	t.Helper()
	s := newStage(t, all)
	s.plan()
	s.draft("overview/changes", map[string]string{"ramet-drafts/overview.md": overview})
	s.draft("guide/changes", map[string]string{"ramet-drafts/guide.none": "There is too little.\n"})
	testkit.Must(s.call("compose"))(t)
	return s
}

// copy returns a stage with the same files, which the test may change.
func (s *stage) copy(t *testing.T) *stage {
	t.Helper()
	again := &stage{t: t, repo: s.repo, in: t.TempDir(), tree: git.Tree{Dir: t.TempDir(), Git: s.tree.Git}, vars: s.vars}
	testkit.OK(t, errors.Join(os.CopyFS(again.in, os.DirFS(s.in)), os.CopyFS(again.tree.Dir, os.DirFS(s.tree.Dir))))
	return again
}

func (s *stage) page(name string) string {
	s.t.Helper()
	data := testkit.Must(os.ReadFile(filepath.Join(s.tree.Dir, name)))(s.t)
	return string(data)
}

func TestFromARepositoryToPages(t *testing.T) {
	s := written(t, greet)
	if out, err := s.call("check"); err != nil {
		t.Fatal(err, out)
	}
	if got := s.page("docs/index.md"); got != "<!-- ramet:begin overview -->\n\n# greet\n\nGreets people, by name.\n\n## Read on\n\n- [example.org/greet](reference.md)\n\n<!-- ramet:end overview -->\n" {
		t.Error(got)
	}
	if got := s.page("docs/reference.md"); !strings.Contains(got, "## Hello\n\n```go\nfunc Hello(name string) string\n```\n\nHello greets somebody by name.\n") {
		t.Error(got)
	}
	body, _ := os.ReadFile(filepath.Join(s.in, "artifacts/body.md"))
	if !strings.Contains(string(body), "`README.md:3-3`") || !strings.Contains(string(body), "no page \"Getting started\": There is too little.") {
		t.Errorf("%s", body)
	}
	starter, _ := os.ReadFile(filepath.Join(s.in, "artifacts/sections/overview.md"))
	if want := "Greets people, by name. See more. <!-- cite: README.md:3-3 -->\n\n## Install\n\n```sh\ngo get example.org/greet\n```\n<!-- cite: README.md:7-9 -->"; !strings.Contains(string(starter), want) {
		t.Errorf("%s", starter)
	}

	// Once merged, the same drafts change nothing, and what others add around them stays.
	more := maps.Clone(greet)
	for _, name := range []string{"docs/index.md", "docs/reference.md"} {
		more[name] = "Theirs above.\r\n" + s.page(name) + "Theirs below"
	}
	again := written(t, more)
	if out, err := again.call("check"); err != nil || again.page("docs/index.md") != more["docs/index.md"] || again.page("docs/reference.md") != more["docs/reference.md"] {
		t.Error(err, out, again.page("docs/index.md"))
	}
}

// What the gate finds in trees and drafts, besides what CheckEvidence finds in pages.
func TestTheGate(t *testing.T) {
	fresh := written(t, greet)
	ours := "Theirs.\n\n<!-- ramet:begin overview -->\n\n# greet\n\nOld.\n\n<!-- ramet:end overview -->\n\nTheirs, too.\n"
	both := maps.Clone(greet)
	both["docs/index.md"] = ours
	within := written(t, both)
	for name, c := range map[string]struct {
		within       bool // the page has text of others around ours
		drafts, tree map[string]string
		remove, code string
	}{
		"in order":                {},
		"ours within theirs":      {within: true},
		"a page of no plan":       {tree: map[string]string{"docs/more.md": "# More\n"}, code: "docs/more.md:1: " + pageUnplanned},
		"a file of no plan":       {tree: map[string]string{"run.sh": "rm\n"}, code: "run.sh:1: " + pageUnplanned},
		"somebody else's file":    {tree: map[string]string{"greet.go": "package greet\n"}, code: "greet.go:1: " + outsideChanged},
		"a file that was removed": {remove: "a/b.txt", code: "a/b.txt:1: " + outsideChanged},
		"a page that was removed": {remove: "docs/index.md", code: "docs/index.md:1: " + pageMissing},
		"a byte outside": {within: true, tree: map[string]string{"docs/index.md": strings.Replace(ours, "Theirs.", "Theirs!", 1)},
			code: "docs/index.md:1: " + outsideChanged},
		"a blank line outside": {within: true, tree: map[string]string{"docs/index.md": ours + "\n"}, code: "docs/index.md:1: " + outsideChanged},
		"the markers are gone": {within: true, tree: map[string]string{"docs/index.md": "Theirs.\n"}, code: "docs/index.md:1: " + outsideChanged},
		"a page that is not its draft": {tree: map[string]string{"docs/index.md": "<!-- ramet:begin overview -->\n\n# greet\n\nQuantum.\n\n<!-- ramet:end overview -->\n"},
			code: "docs/index.md:1: " + pageChanged},
		"a writer elsewhere":     {drafts: map[string]string{"greet.go": "package other\n"}, code: "greet.go:1: " + draftForeign},
		"a draft of no plan":     {drafts: map[string]string{"ramet-drafts/more.md": "# More\n"}, code: "ramet-drafts/more.md:1: " + draftForeign},
		"a page in its place":    {drafts: map[string]string{"docs/more.md": "# More\n"}, code: "docs/more.md:1: " + draftForeign},
		"a lie":                  {drafts: map[string]string{"ramet-drafts/overview.md": overview + "\nQuantum encryption on the moon since version 99.7. <!-- cite: README.md:3 -->\n"}, code: "docs/index.md:10: FACT_NUMBER"},
		"markers of its own":     {drafts: map[string]string{"ramet-drafts/overview.md": overview + "\n<!-- ramet:end overview -->\nMore.\n"}, code: "docs/index.md:10: CITE_FORM"},
		"an empty page":          {drafts: map[string]string{"ramet-drafts/overview.md": "# greet\n"}, code: "docs/index.md:1: PAGE_EMPTY"},
		"a page that is missing": {drafts: map[string]string{"ramet-drafts/overview.md": ""}, code: "docs/index.md:1: PAGE_TITLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fresh.copy(t)
			if c.within {
				s = within.copy(t)
			}
			if c.drafts != nil {
				s.draft("overview/changes", c.drafts)
				if s.drafted(c.drafts) {
					s.draft("overview/more", map[string]string{"ramet-drafts/overview.md": overview})
				}
				testkit.Must(s.call("compose"))(t)
			}
			testkit.OK(t, files(s.tree.Dir, c.tree))
			if c.remove != "" {
				testkit.OK(t, os.Remove(filepath.Join(s.tree.Dir, c.remove)))
			}
			out, err := s.call("check")
			if (err == nil) != (c.code == "") || !strings.Contains(out, c.code) {
				t.Errorf("%v\n%s, not %s", err, out, c.code)
			}
		})
	}
}

// drafted says whether a writer wrote something else than the page.
func (s *stage) drafted(all map[string]string) bool {
	_, ok := all["ramet-drafts/overview.md"]
	return !ok
}

func TestPlansFollowWhatThereIs(t *testing.T) {
	readme := "# x\n\nDoes things, one by one.\n"
	for name, c := range map[string]struct {
		files map[string]string
		vars  map[string]string
		pages []string
		notes string
		fails string
	}{
		"nothing":            {map[string]string{"README.md": readme}, nil, []string{"docs/index.md", "docs/guide.md"}, "", ""},
		"a folder":           {map[string]string{"README.md": readme}, map[string]string{"docs_dir": "manual"}, []string{"manual/index.md", "manual/guide.md"}, "", ""},
		"an index":           {map[string]string{"docs/index.rst": "x\n"}, nil, []string{"docs/overview.md", "docs/guide.md"}, "", ""},
		"a README there":     {map[string]string{"docs/README.md": "x\n"}, nil, []string{"docs/overview.md", "docs/guide.md"}, "", ""},
		"a guide":            {map[string]string{"docs/Guide.md": "x\n"}, nil, []string{"docs/index.md"}, "no page \"Getting started\": docs/guide is not ours", ""},
		"sphinx":             {map[string]string{"docs/conf.py": "extensions = []\n", "docs/index.rst": "x\n"}, nil, []string{"docs/overview.rst", "docs/guide.rst"}, "", ""},
		"sphinx with myst":   {map[string]string{"doc/source/conf.py": "extensions = ['myst_parser']\n", "doc/source/index.md": "x\n"}, nil, []string{"doc/source/overview.md", "doc/source/guide.md"}, "", ""},
		"mkdocs":             {map[string]string{"mkdocs.yml": "site_name: x\ndocs_dir: pages\n", "pages/index.md": "x\n"}, nil, []string{"pages/overview.md", "pages/guide.md"}, "", ""},
		"docusaurus":         {map[string]string{"website/docusaurus.config.js": "x\n", "website/docs/intro.md": "x\n"}, nil, []string{"website/docs/index.md", "website/docs/guide.md"}, "no reference of the JavaScript code", ""},
		"mdbook":             {map[string]string{"book.toml": "[book]\nsrc = \"text\"\n", "text/SUMMARY.md": "# x\n"}, nil, []string{"text/overview.md", "text/guide.md"}, "add the new pages", ""},
		"hugo":               {map[string]string{"hugo.toml": "title = 'x'\n", "content/docs/_index.md": "x\n"}, nil, []string{"content/docs/overview.md", "content/docs/guide.md"}, "", ""},
		"a link inside":      {map[string]string{"docs": "link: site/pages", "site/pages/index.md": "x\n"}, nil, []string{"site/pages/overview.md", "site/pages/guide.md"}, "", ""},
		"a link out":         {map[string]string{"docs": "link: ../../elsewhere"}, nil, nil, "", "docs is a symbolic link out of the repository (to ../../elsewhere)"},
		"an absolute link":   {map[string]string{"docs": "link: /etc"}, nil, nil, "", "docs is a symbolic link out of the repository"},
		"a file":             {map[string]string{"docs": "x\n"}, nil, nil, "", "docs is a file"},
		"a folder outside":   {map[string]string{"README.md": readme}, map[string]string{"docs_dir": "../x"}, nil, "", "is not a folder of a repository's files"},
		"all is taken":       {map[string]string{"docs/index.md": "x\n", "docs/overview.md": "x\n", "docs/guide.md": "x\n"}, nil, nil, "", "there is no page to write: no page \"Overview\""},
		"broken markers":     {map[string]string{"docs/guide.md": "<!-- ramet:begin guide -->\n"}, nil, nil, "", "the markers in docs/guide.md are not one"},
		"another language":   {map[string]string{"lib/a.js": "exports.a = 1\n", "README.md": readme}, nil, []string{"docs/index.md", "docs/guide.md"}, "no reference of the JavaScript code: there is no tool here", ""},
		"a page that's ours": {map[string]string{"docs/overview.md": "<!-- ramet:begin overview -->\n<!-- ramet:end overview -->\n"}, nil, []string{"docs/overview.md", "docs/guide.md"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.files)
			maps.Copy(s.vars, c.vars)
			if c.fails != "" {
				if _, err := s.call("plan"); err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("%v, not %s", err, c.fails)
				}
				return
			}
			var got []string
			p := s.plan()
			for _, page := range p.Pages {
				got = append(got, page.Path)
			}
			if !slices.Equal(got, c.pages) || !strings.Contains(strings.Join(p.Notes, "\n"), c.notes) {
				t.Errorf("%q %q", got, p.Notes)
			}
		})
	}
}

func TestPagesOfSphinxAreRestructured(t *testing.T) {
	all := maps.Clone(greet)
	all["docs/conf.py"], all["docs/index.rst"] = "extensions = []\n", "Welcome\n=======\n"
	s := newStage(t, all)
	s.plan()
	s.draft("overview/changes", map[string]string{"ramet-drafts/overview.md": "# greet\n\nGreets `people`, by name. <!-- cite: README.md:3 -->\n\n| a | people |\n|---|---|\n| by | `name` |\n\n<!-- cite: README.md:3 -->\n\n- [example.org/greet](reference.rst)\n"})
	s.draft("guide/changes", map[string]string{"ramet-drafts/guide.none": "No.\n"})
	testkit.Must(s.call("compose"))(t)
	if out, err := s.call("check"); err != nil {
		t.Fatal(err, out)
	}
	want := ":orphan:\n\n.. ramet:begin overview\n\ngreet\n=====\n\nGreets ``people``, by name.\n\n.. list-table::\n   :header-rows: 1\n\n   * - a\n     - people\n   * - by\n     - ``name``\n\n- :doc:`example.org/greet <reference>`\n\n.. ramet:end overview\n"
	if got := s.page("docs/overview.rst"); got != want {
		t.Error(got)
	}
	if got := s.page("docs/reference.rst"); !strings.Contains(got, "Hello\n-----\n\n.. code-block:: go\n\n   func Hello(name string) string\n\nHello greets") {
		t.Error(got)
	}
}

func open(t *testing.T, files map[string]string) *Repository {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r := testkit.Must(OpenRepository(tree))(t)
	return r
}

// accepted demands that the gate accepts a page.
func accepted(t *testing.T, r *Repository, p ReferencePage) {
	t.Helper()
	for _, f := range CheckEvidence("# "+p.Name+"\n\n"+p.Draft, p.Name, r, func(string) (string, bool) { return "", false }) {
		t.Errorf("%s: %+v\n%s", p.Name, f, p.Draft)
	}
}

func TestGo(t *testing.T) {
	r := open(t, map[string]string{
		"go.mod":        "module example.org/greet\n\ngo 1.22\n",
		"greet.go":      "// Package greet greets people.\n//\n//	x := greet.Hello(\"ada\")\n//\n// See [Hello] and https://example.org for more.\npackage greet\n\n// Hello greets somebody by name, `kindly`.\n//\n//   - once\n//   - or *twice* with a_name\nfunc Hello(name string) string { return \"Hello, \" + name }\n\nfunc hidden() {}\n\n// A Greeter greets.\ntype Greeter struct {\n\tName   string // of whom\n\tsecret int\n}\n\n// Greet greets.\nfunc (g *Greeter) Greet() {}\n\n// How often.\nconst (\n\tOnce  = 1\n\tTwice = 2\n)\n",
		"other.go":      "//go:build windows\n\npackage greet\n\nfunc Hello(name string) string { return name }\n",
		"more.go":       "// Code generated by hand. DO NOT EDIT.\n\npackage greet\n\n// Kinds of greeting.\ntype (\n\tLoud  = Greeter\n\tQuiet = Greeter\n)\n",
		"x_test.go":     "package greet\n\nfunc TestX() {}\n",
		"internal/y.go": "package internal\n\nfunc Y() {}\n", "cmd/z/main.go": "package main\n\nfunc Main() {}\n", "vendor/v/v.go": "package v\n\nfunc V() {}\n",
		"sub/sub.go": "package sub\n\n// Do does.\nfunc Do() error { return nil }\n", "bad/bad.go": "package bad\n\nfunc {",
	})
	pages := GoReference(r)
	if len(pages) != 2 || pages[0].Name != "example.org/greet" || pages[1].Name != "example.org/greet/sub" || pages[1].Short != "sub" || pages[0].Names != 6 {
		t.Fatalf("%+v", pages)
	}
	for _, p := range pages {
		accepted(t, r, p)
	}
	for _, want := range []string{"Package greet greets people. <!-- cite: greet.go:1-5 -->", "x := greet.Hello(\"ada\")", "## Hello\n", "func Hello(name string) string\n", "greets somebody by name, `kindly`.", "- once", `\*twice\* with a\_name`,
		"### Greet\n", "func (g *Greeter) Greet()", "Name string // of whom", "## Once\n", "Twice = 2", "## Quiet\n\n```go\nQuiet = Greeter\n```"} {
		if !strings.Contains(pages[0].Draft, want) {
			t.Errorf("no %q in %s", want, pages[0].Draft)
		}
	}
	for _, not := range []string{"secret", "hidden", "filtered", "TestX"} {
		if strings.Contains(pages[0].Draft, not) {
			t.Errorf("%q in %s", not, pages[0].Draft)
		}
	}
}

func TestPython(t *testing.T) {
	testkit.Need(t, "python3")
	files := map[string]string{
		"src/pets/__init__.py": "\"\"\"Pets of all kinds.\n\nMore.\n\"\"\"\n\n__all__ = ['Cat', 'feed']\n\n\nclass Cat:\n    \"\"\"A cat, *mostly*.\"\"\"\n\n    def __init__(self):\n        raise SystemExit(9)\n\n    @property\n    def age(\n        self,\n    ) -> int:\n        \"\"\"How old it is.\"\"\"\n        return 3\n\n\nasync def feed(cat, food='fish'):\n    return cat\n\n\ndef left():\n    pass\n",
		"src/pets/_private.py": "def secret(): pass\n", "src/pets/broken.py": "def (:\n", "tests/test_pets.py": "def test(): pass\n", "setup.py": "raise SystemExit(9)\n",
		"src/pets/dogs.py": "def bark(): return 1\n\n\ndef _quiet(): pass\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		testkit.OK(t, os.MkdirAll(dir+"/"+name[:strings.LastIndex("/"+name, "/")], 0o700))
		testkit.OK(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600))
	}
	r := open(t, files)
	pages, note := PythonReference(t.Context(), r, dir)
	if len(pages) != 2 || pages[0].Name != "pets" || pages[1].Name != "pets.dogs" || !strings.HasPrefix(note, "1 Python modules could not be read") {
		t.Fatalf("%+v %s", pages, note)
	}
	for _, p := range pages {
		accepted(t, r, p)
	}
	for _, want := range []string{"Pets of all kinds. <!-- cite: src/pets/__init__.py:1-4 -->", "## Cat\n", "class Cat\n", "A cat, \\*mostly\\*.", "### age\n", "def age(\n    self,\n) -> int\n", "How old it is.", "async def feed(cat, food='fish')\n"} {
		if !strings.Contains(pages[0].Draft, want) {
			t.Errorf("no %q in %s", want, pages[0].Draft)
		}
	}
	if strings.Contains(pages[0].Draft, "left") || strings.Contains(pages[1].Draft, "quiet") || !strings.Contains(pages[1].Draft, "## bark") {
		t.Errorf("%+v", pages)
	}
	t.Setenv("PATH", t.TempDir())
	if pages, note := PythonReference(t.Context(), r, dir); len(pages) != 0 || !strings.Contains(note, "python3, which reads them, is not there") {
		t.Errorf("%+v %s", pages, note)
	}
}

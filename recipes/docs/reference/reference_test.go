package reference

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"ramet/recipes/docs/evidence"
)

func open(t *testing.T, files map[string]string) *evidence.Repository {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r, err := evidence.Open(tree)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// accepted demands that the gate accepts a page.
func accepted(t *testing.T, r *evidence.Repository, p Page) {
	t.Helper()
	for _, f := range evidence.Check("# "+p.Name+"\n\n"+p.Draft, p.Name, r, func(string) (string, bool) { return "", false }) {
		t.Errorf("%s: %+v\n%s", p.Name, f, p.Draft)
	}
}

func TestGo(t *testing.T) {
	r := open(t, map[string]string{
		"go.mod":        "module example.org/greet\n\ngo 1.22\n",
		"greet.go":      "// Package greet greets people.\n//\n//	x := greet.Hello(\"ada\")\n//\n// See [Hello] and https://example.org for more.\npackage greet\n\n// Hello greets somebody by name, `kindly`.\n//\n//   - once\n//   - or *twice* with a_name\nfunc Hello(name string) string { return \"Hello, \" + name }\n\nfunc hidden() {}\n\n// A Greeter greets.\ntype Greeter struct {\n\tName   string // of whom\n\tsecret int\n}\n\n// Greet greets.\nfunc (g *Greeter) Greet() {}\n\n// How often.\nconst (\n\tOnce  = 1\n\tTwice = 2\n)\n",
		"other.go":      "//go:build windows\n\npackage greet\n\nfunc Hello(name string) string { return name }\n",
		"x_test.go":     "package greet\n\nfunc TestX() {}\n",
		"internal/y.go": "package internal\n\nfunc Y() {}\n", "cmd/z/main.go": "package main\n\nfunc Main() {}\n", "vendor/v/v.go": "package v\n\nfunc V() {}\n",
		"sub/sub.go": "package sub\n\n// Do does.\nfunc Do() error { return nil }\n", "bad/bad.go": "package bad\n\nfunc {",
	})
	pages := Go(r)
	if len(pages) != 2 || pages[0].Name != "example.org/greet" || pages[1].Name != "example.org/greet/sub" || pages[1].Short != "sub" || pages[0].Names != 4 {
		t.Fatalf("%+v", pages)
	}
	for _, p := range pages {
		accepted(t, r, p)
	}
	for _, want := range []string{"Package greet greets people. <!-- cite: greet.go:1-5 -->", "x := greet.Hello(\"ada\")", "## Hello\n", "func Hello(name string) string\n", "greets somebody by name, `kindly`.", "- once", `\*twice\* with a\_name`,
		"### Greet\n", "func (g *Greeter) Greet()", "Name string // of whom", "## Once\n", "Twice = 2"} {
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
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	files := map[string]string{
		"src/pets/__init__.py": "\"\"\"Pets of all kinds.\n\nMore.\n\"\"\"\n\n__all__ = ['Cat', 'feed']\n\n\nclass Cat:\n    \"\"\"A cat, *mostly*.\"\"\"\n\n    def __init__(self):\n        raise SystemExit(9)\n\n    @property\n    def age(\n        self,\n    ) -> int:\n        \"\"\"How old it is.\"\"\"\n        return 3\n\n\nasync def feed(cat, food='fish'):\n    return cat\n\n\ndef left():\n    pass\n",
		"src/pets/_private.py": "def secret(): pass\n", "src/pets/broken.py": "def (:\n", "tests/test_pets.py": "def test(): pass\n", "setup.py": "raise SystemExit(9)\n",
		"src/pets/dogs.py": "def bark(): return 1\n\n\ndef _quiet(): pass\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(dir+"/"+name[:strings.LastIndex("/"+name, "/")], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := open(t, files)
	pages, note := Python(t.Context(), r, dir)
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
	if pages, note := Python(t.Context(), r, dir); len(pages) != 0 || !strings.Contains(note, "python3, which reads them, is not there") {
		t.Errorf("%+v %s", pages, note)
	}
}

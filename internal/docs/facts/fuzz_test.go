package facts_test

import (
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// surroundings make a file of the kind reachable for users.
var surroundings = map[string]map[string]string{
	"go":     {"go.mod": "module fuzz.dev/x\n"},
	"python": {"pyproject.toml": "[project]\nname = \"x\"\n[project.scripts]\nx = \"x:main\"\n"},
	"script": {"package.json": `{"name":"x","main":"index.ts","bin":{"x":"index.ts"}}`},
	"rust":   {"Cargo.toml": "[package]\nname = \"x\"\n"},
}

// fuzz extracts from one file in its surroundings and checks what is promised of all facts.
func fuzz(f *testing.F, kind, file string, languages ...string) {
	for _, name := range fixtures {
		for p, data := range project(f, name) {
			for _, ext := range languages {
				if strings.HasSuffix(p, ext) {
					f.Add(data.Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{file: {Data: data}}
		for name, text := range surroundings[kind] {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, facts := extract(t, fsys, "x")
		holds(t, fsys, facts)
	})
}

func FuzzGo(f *testing.F)     { fuzz(f, "go", "main.go", ".go") }
func FuzzPython(f *testing.F) { fuzz(f, "python", "x.py", ".py") }
func FuzzScript(f *testing.F) { fuzz(f, "script", "index.ts", ".ts", ".js") }
func FuzzRust(f *testing.F)   { fuzz(f, "rust", "src/lib.rs", ".rs") }
func FuzzClap(f *testing.F)   { fuzz(f, "rust", "src/main.rs", ".rs") }
func FuzzReadme(f *testing.F) { fuzz(f, "", "README.md", ".md") }
func FuzzRst(f *testing.F)    { fuzz(f, "", "README.rst", ".rst", ".py") }
func FuzzMake(f *testing.F)   { fuzz(f, "", "Makefile", "Makefile", "justfile") }

// FuzzManifests tries the bytes as each kind of manifest.
func FuzzManifests(f *testing.F) {
	names := []string{"go.mod", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "package.json", "Cargo.toml", "tox.ini", "noxfile.py", ".github/workflows/x.yml"}
	for _, name := range fixtures {
		for p, data := range project(f, name) {
			for i, m := range names {
				if path.Base(p) == path.Base(m) {
					f.Add(byte(i), data.Data)
				}
			}
		}
	}
	f.Add(byte(1), []byte("[tool.poetry]\nname='p'\nversion=\"1\"\n[tool.poetry.dependencies]\npython='^3.8'\nx={version='1', optional=true}\n"))
	f.Add(byte(1), []byte("x = "+strings.Repeat("[", 50)))
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		fsys := fstest.MapFS{names[int(which)%len(names)]: {Data: data}}
		_, facts := extract(t, fsys, "x")
		holds(t, fsys, facts)
	})
}

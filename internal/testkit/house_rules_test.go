package testkit_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write the figures into docs/architecture.md")

const (
	figuresFile  = "../../docs/architecture.md"
	figuresBegin = "<!-- figures -->\n"
	figuresEnd   = "<!-- /figures -->"
)

// TestFiguresAreCurrent keeps the figures in docs/architecture.md true. Line counts may be three thousand off, so that
// not every change needs an update.
func TestFiguresAreCurrent(t *testing.T) {
	text := testkit.Must(os.ReadFile(figuresFile))(t)
	before, rest, found := bytes.Cut(text, []byte(figuresBegin))
	old, after, closed := bytes.Cut(rest, []byte(figuresEnd))
	if !found || !closed {
		t.Fatalf("%s has no place for figures", figuresFile)
	}
	now := measure(t)
	if !*update && slices.EqualFunc(strings.Split(string(old), "\n"), strings.Split(now, "\n"), isNear) {
		return
	}
	if !*update {
		t.Fatalf("the figures are\n%s: go test ./internal/testkit -run Figures -update", now)
	}
	testkit.OK(t, os.WriteFile(figuresFile, slices.Concat(before, []byte(figuresBegin+now+figuresEnd), after), 0o644))
}

// isNear reports whether a row of the table is near enough to what it should be.
func isNear(row, want string) bool {
	if row == want {
		return true
	}
	var thousands [2]int
	var names [2]string
	for i, r := range []string{row, want} {
		name, figure, _ := strings.Cut(r, ", thousands | ")
		names[i] = name
		if _, err := fmt.Sscanf(figure, "%d |", &thousands[i]); err != nil {
			return false
		}
	}
	return names[0] == names[1] && max(thousands[0], thousands[1])-min(thousands[0], thousands[1]) <= 3
}

// measure returns the table of figures.
func measure(t *testing.T) string {
	t.Helper()
	code, tests := 0, 0
	methods := map[string]int{}
	for _, top := range []string{"internal", "recipes", "cmd"} {
		testkit.OK(t, filepath.WalkDir(filepath.Join("../..", top), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
				return err
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			lines := bytes.Count(source, []byte("\n"))
			if strings.HasSuffix(file, "_test.go") || strings.Contains(filepath.ToSlash(file), "/testkit/") {
				tests += lines
				return nil
			}
			code += lines
			return countMethods(methods, file, source)
		}))
	}
	largest, most := "", 0
	for name, n := range methods {
		if n > most || n == most && name < largest {
			largest, most = name, n
		}
	}
	imports := importsOf(t, "../..")
	chain := longestChain(imports)
	var b strings.Builder
	fmt.Fprintf(&b, "| figure | now |\n|---|---|\n")
	fmt.Fprintf(&b, "| areas under internal/ | %d |\n", len(areas))
	fmt.Fprintf(&b, "| packages | %d |\n", len(imports))
	fmt.Fprintf(&b, "| longest import chain | %d: %s |\n", len(chain), strings.Join(chain, " > "))
	fmt.Fprintf(&b, "| lines of Go without tests, thousands | %d |\n", (code+500)/1000)
	fmt.Fprintf(&b, "| lines of tests and test support, thousands | %d |\n", (tests+500)/1000)
	fmt.Fprintf(&b, "| type with most exported methods | %s: %d |\n", largest, most)
	return b.String()
}

// countMethods adds the exported methods declared in a file to those of their types.
func countMethods(methods map[string]int, file string, source []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../../internal/")
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if index, ok := of.(*ast.IndexExpr); ok {
			of = index.X
		}
		if name, ok := of.(*ast.Ident); ok {
			methods[folder+"."+name.Name]++
		}
	}
	return nil
}

// longestChain returns one of the longest chains of imports within the module, tests apart.
func longestChain(imports map[string][]string) []string {
	chains := map[string][]string{}
	var below func(string) []string
	below = func(p string) []string {
		if chain, ok := chains[p]; ok {
			return chain
		}
		var longest []string
		for _, to := range imports[p] {
			if within(to, "ramet") {
				if c := below(to); len(c) > len(longest) {
					longest = c
				}
			}
		}
		chains[p] = append([]string{strings.TrimPrefix(strings.TrimPrefix(p, "ramet/"), "internal/")}, longest...)
		return chains[p]
	}
	return below("ramet/cmd/ramet")
}

// startsItself are the files that start ramet, or what the launcher itself stands on.
var startsItself = []string{
	"internal/launch/launch.go", "internal/launch/sandbox/start_linux.go", "internal/launch/sandbox/start_other.go", "internal/launch/sandbox/helper_linux.go",
	"internal/app/runself.go", "internal/app/detach_unix.go", "internal/face/cli/demo.go", "internal/operation/control/spawn_unix.go", "internal/operation/control/spawn_windows.go",
}

// Every external program is started by package launch: what lies in a folder must not decide what runs.
func TestProgramsAreStartedInOnePlace(t *testing.T) {
	seen := 0
	for _, top := range []string{"internal", "recipes", "cmd"} {
		testkit.OK(t, filepath.WalkDir(filepath.Join("../..", top), func(file string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel("../..", file)
			helps := strings.HasPrefix(filepath.ToSlash(name), "internal/testkit/")
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || helps {
				return err
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			tree, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
			if err != nil {
				return err
			}
			for _, call := range starts(tree) {
				seen++
				if !slices.Contains(startsItself, filepath.ToSlash(name)) {
					t.Errorf("%s uses %s: start programs with ramet/internal/launch", name, call)
				}
			}
			return nil
		}))
	}
	if seen < len(startsItself) {
		t.Errorf("only %d places start something: the search misses some", seen)
	}
}

// starts returns the uses of what starts a process.
func starts(tree *ast.File) (out []string) {
	banned := map[string][]string{"exec": {"Command", "CommandContext", "Cmd"}, "os": {"StartProcess"}, "syscall": {"Exec", "ForkExec", "StartProcess"}, "unix": {"Exec"}, "sandbox": {"Start"}}
	ast.Inspect(tree, func(n ast.Node) bool {
		if star, ok := n.(*ast.StarExpr); ok { // *exec.Cmd is a type, and starts nothing
			if s, ok := star.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Cmd" {
				return false
			}
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && slices.Contains(banned[p.Name], s.Sel.Name) {
				out = append(out, p.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

// Expressions are built when they are first used, so that no start waits for them
// (text.Regexp). Here every one whose text is in the source is built, because one that
// cannot be would fail only where it is used; and none is built at the start.
func TestEveryLateExpressionCanBeBuilt(t *testing.T) {
	built := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if called(n, "text", "Regexp") {
				if text, ok := n.(*ast.CallExpr).Args[0].(*ast.BasicLit); ok {
					said, _ := strconv.Unquote(text.Value)
					if _, err := regexp.Compile(said); err != nil {
						t.Errorf("%s: %v", files.Position(n.Pos()), err)
					}
					built++
				}
			}
			return true
		})
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || strings.Contains(path, "testkit/") {
				continue
			}
			for _, s := range vars.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, value := range spec.Values {
					if called(value, "regexp", "MustCompile") {
						t.Errorf("%s: built at every start; use text.Regexp", files.Position(value.Pos()))
					}
				}
			}
		}
		return nil
	}
	for _, folder := range []string{"..", "../../recipes"} {
		testkit.OK(t, filepath.WalkDir(folder, look))
	}
	if built < 50 {
		t.Fatalf("%d expressions were found", built)
	}
}

// called tells whether a node is a call of that function of that package.
func called(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != name {
		return false
	}
	from, ok := f.X.(*ast.Ident)
	return ok && from.Name == pkg
}

// Comments that are left over from a merged package float above the package clause, where go doc does not see them.
func TestEveryPackageHasOnePackageComment(t *testing.T) {
	comments := map[string]int{}
	for _, top := range []string{"internal", "recipes"} {
		testkit.OK(t, filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil || file.Name.Name == "main" {
				return err
			}
			comments[filepath.Dir(path)] += countPackageComments(t, path, file)
			return nil
		}))
	}
	if len(comments) < 50 {
		t.Fatalf("only %d packages were found", len(comments))
	}
	for folder, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments", folder, n)
		}
	}
}

// countPackageComments returns 1 if the file documents its package, and reports comments that go doc does not show.
func countPackageComments(t *testing.T, path string, file *ast.File) (n int) {
	for _, c := range file.Comments {
		switch text := c.Text(); {
		case c == file.Doc && !strings.HasPrefix(text, "Package "+file.Name.Name+" "):
			t.Errorf("%s: the package comment does not begin with %q", path, "Package "+file.Name.Name)
		case c == file.Doc:
			n++
		case strings.HasPrefix(text, "Package "):
			t.Errorf("%s: %.40q is not attached to the package clause", path, text)
		}
	}
	return n
}

// What knows documentation is recipes/docs, which has nothing that another recipe could not have: the
// engine of runs, its gates and what reads Markdown do not even know the words.
func TestTheEngineKnowsNothingOfDocumentation(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(documentation|docs|sphinx|mkdocs|docusaurus|mdbook|hugo|myst|citations?|cited|changelog|tutorial|glossary)\b`)
	looked := 0
	for _, folder := range []string{"../run", "../runner", "../base/markdown"} {
		testkit.OK(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			looked++
			for i, line := range strings.Split(string(text), "\n") {
				if found := words.FindString(line); found != "" {
					t.Errorf("%s:%d: %q", path, i+1, found)
				}
			}
			return err
		}))
	}
	if looked < 50 {
		t.Errorf("only %d files were looked at", looked)
	}
}

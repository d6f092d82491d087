package house

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
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write the figures into docs/architecture.md")

const (
	figuresFile  = "../../../docs/architecture.md"
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
		t.Fatalf("the figures are\n%s: go test ./internal/testkit/house -run Figures -update", now)
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
		testkit.OK(t, filepath.WalkDir(filepath.Join("../../..", top), func(file string, d fs.DirEntry, err error) error {
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
	imports := importsOf(t, "../../..")
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
	folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../../../internal/")
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

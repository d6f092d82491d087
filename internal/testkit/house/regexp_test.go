package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

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
	for _, folder := range []string{"../..", "../../../recipes"} {
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

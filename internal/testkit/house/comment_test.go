package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// Comments that are left over from a merged package float above the package clause, where go doc does not see them.
func TestEveryPackageHasOnePackageComment(t *testing.T) {
	comments := map[string]int{}
	for _, top := range []string{"internal", "recipes"} {
		testkit.OK(t, filepath.WalkDir(filepath.Join("../../..", top), func(path string, d fs.DirEntry, err error) error {
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

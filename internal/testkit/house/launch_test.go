package house

import (
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

// startsItself are the files that start ramet, or what the launcher itself stands on.
var startsItself = []string{
	"internal/launch/launch.go", "internal/launch/sandbox/start_linux.go", "internal/launch/sandbox/start_other.go", "internal/launch/sandbox/helper_linux.go",
	"internal/app/runself.go", "internal/app/detach_unix.go", "internal/face/cli/demo.go", "internal/operation/control/spawn_unix.go", "internal/operation/control/spawn_windows.go",
}

// Every external program is started by package launch: what lies in a folder must not decide what runs.
func TestProgramsAreStartedInOnePlace(t *testing.T) {
	seen := 0
	for _, top := range []string{"internal", "recipes", "cmd"} {
		testkit.OK(t, filepath.WalkDir(filepath.Join("../../..", top), func(file string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel("../../..", file)
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

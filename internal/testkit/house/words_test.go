package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// What knows documentation is recipes/docs, which has nothing that another recipe could not have: the
// engine of runs, its gates and what reads Markdown do not even know the words.
func TestTheEngineKnowsNothingOfDocumentation(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(documentation|docs|sphinx|mkdocs|docusaurus|mdbook|hugo|myst|citations?|cited|changelog|tutorial|glossary)\b`)
	looked := 0
	for _, folder := range []string{"../../run", "../../runner", "../../base/markdown"} {
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

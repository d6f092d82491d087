package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// A golden file shows each line with its codes readable and its width.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		src := testkit.Must(os.ReadFile(file))(t)
		for _, c := range []struct {
			name  string
			width int
			theme Theme
		}{{"40", 40, Dark()}, {"80", 80, Dark()}, {"120", 120, Dark()}, {"basic80", 80, Basic()}, {"mono80", 80, Mono()}, {"none80", 80, Theme{}}} {
			var b strings.Builder
			for _, line := range Render(string(src), c.width, c.theme) {
				fmt.Fprintf(&b, "%3d %s\n", ansi.StringWidth(line), strings.NewReplacer("\x1b[m", "⟨⟩", "\x1b[", "⟨").Replace(line))
			}
			golden := strings.TrimSuffix(file, ".md") + "." + c.name + ".golden"
			if *update {
				testkit.OK(t, os.WriteFile(golden, []byte(b.String()), 0o644))
				continue
			}
			want := testkit.Must(os.ReadFile(golden))(t)
			if b.String() != string(want) {
				t.Errorf("%s differs; if it should, run go test with -update\n%s", golden, b.String())
			}
		}
	}
}

func TestARemovedCommentIsNoFileName(t *testing.T) {
	theme := Theme{Added: "32", Removed: "31", Comment: "2", Hunk: "36"}
	var got []string
	for _, l := range Render("```diff\n--- a\n+++ b\n@@ -1,2 +1 @@ f\n--- old comment\n kept\n\\ No newline at end of file\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+++ y\n```\n", 40, theme) {
		code, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(l, "  "), "\x1b["), "m")
		got = append(got, code)
	}
	if want := "╶ diff 2 2 36 31  kept \\ No newline at end of file 2 2 36 31 32"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", strings.Join(got, " "), want)
	}
}

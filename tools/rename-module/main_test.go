package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The whole source is renamed, in a copy: afterwards every import of it is found, and no
// package of it has the old path.
func TestTheWholeSourceIsRenamed(t *testing.T) {
	root := copied(t, "../..")
	n, err := rename(root, "example.com/you/ramet")
	if err != nil || n < 100 {
		t.Fatalf("%d files, %v", n, err)
	}
	for _, dir := range []string{".", "tools/release"} {
		cmd := exec.Command("go", "list", "-test", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")
		cmd.Dir = filepath.Join(root, dir)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", dir, err, said.String())
		}
		if !strings.Contains(string(out), "example.com/you/ramet/internal/face/cli\n") {
			t.Errorf("%s: the new path is not there", dir)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "ramet/") {
				t.Errorf("%s: still there: %s", dir, line)
			}
		}
	}
	again, err := rename(root, "ramet")
	if err != nil || again != n {
		t.Errorf("back: %d files of %d, %v", again, n, err)
	}
}

// What only looks like a path stays.
func TestOtherWordsStay(t *testing.T) {
	const in = "package x\n\nimport (\n\t\"ramet/internal/base/id\"\n\t_ `ramet/cmd/ramet`\n)\n\n// of ramet/internal/base/id\nvar a = []string{\"ramet/1\", \"ramet\", \"aramet/internal/x\", \"x ramet/internal/base/id y\", \"https://e.com/ramet/internal/x\"}\n"
	const want = "package x\n\nimport (\n\t\"e.com/r/internal/base/id\"\n\t_ `e.com/r/cmd/ramet`\n)\n\n// of ramet/internal/base/id\nvar a = []string{\"ramet/1\", \"ramet\", \"aramet/internal/x\", \"x e.com/r/internal/base/id y\", \"https://e.com/ramet/internal/x\"}\n"
	if got := string(inGo([]byte(in), "ramet", "e.com/r")); got != want {
		t.Errorf("got\n%s\nnot\n%s", got, want)
	}
}

func TestABadPathChangesNothing(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module ramet\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "no path", "/x", "http://example.com/x"} {
		if _, err := rename(root, path); err == nil {
			t.Errorf("%q is a path", path)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(root, "go.mod")); string(text) != "module ramet\n" {
		t.Errorf("go.mod is %s", text)
	}
}

// copied is a copy of what git knows of a checkout.
func copied(t *testing.T, from string) string {
	t.Helper()
	root := t.TempDir()
	list, err := exec.Command("git", "-c", "safe.directory=*", "-C", from, "ls-files", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

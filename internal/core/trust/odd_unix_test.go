//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

func TestOddFilesDoNotAct(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"long":   func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", mostInstructions+1)), 0o600) },
		"loop":   func(p string) error { return os.Symlink("AGENTS.md", p) },
		"hole":   func(p string) error { return os.Symlink("nothing", p) },
	} {
		s := newStage(t)
		testkit.OK(t, os.Remove(s.path("AGENTS.md")))
		testkit.OK(t, make(s.path("AGENTS.md")))
		got, err := s.instructions()
		if err != nil || got.Data != nil || !strings.Contains(got.Note, "AGENTS.md is not used: ") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		testkit.Attack(t, "instructions", "AGENTS.md a "+name)
	}
}

// What is shown of a file begins with its name, on one line.
func TestANameWithALineBreakForgesNoHeading(t *testing.T) {
	g := Gate{Home: t.TempDir(), Project: t.TempDir(), Sources: []Source{Below("agents", "defines", 100, 100, ".agents")}}
	testkit.OK(t, errors.Join(os.Mkdir(filepath.Join(g.Project, ".agents"), 0o700), os.WriteFile(filepath.Join(g.Project, ".agents", "a\n+++ now.md"), []byte("x\n"), 0o600)))
	r, err := g.Review()
	if err != nil || len(r.Items) != 1 {
		t.Fatal(r.Items, err)
	}
	diff, err := r.Diff(r.Items[0])
	if err != nil || !strings.HasPrefix(diff, "--- accepted/.agents/a␊+++ now.md\n+++ now/.agents/a␊+++ now.md\n@@") {
		t.Errorf("%q %v", diff, err)
	}
	testkit.Attack(t, "instructions", "a name with a line break that forges a heading")
}

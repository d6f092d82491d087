//go:build unix

package trust

import (
	"os"
	"strings"
	"syscall"
	"testing"
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
		if err := os.Remove(s.path("AGENTS.md")); err != nil {
			t.Fatal(err)
		}
		if err := make(s.path("AGENTS.md")); err != nil {
			t.Fatal(err)
		}
		got, err := s.instructions()
		if err != nil || got.Data != nil || !strings.Contains(got.Note, "AGENTS.md is not used: ") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

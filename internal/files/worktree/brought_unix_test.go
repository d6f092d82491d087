//go:build unix

package worktree

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// TestAPipeIsNotRead checks that a pipe in the place of a file that came from the parent does not stop a look at the changes.
func TestAPipeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	testkit.OK(t, unix.Mkfifo(path, 0o600))
	if got := sumOf(path); got != "prw-------" {
		t.Error(got)
	}
}

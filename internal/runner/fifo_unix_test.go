//go:build unix

package runner

import (
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

func mkfifo(t *testing.T, path string) {
	t.Helper()
	testkit.OK(t, syscall.Mkfifo(path, 0o600))
}

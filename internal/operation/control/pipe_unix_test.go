//go:build unix

package control

import (
	"os"
	"path/filepath"
	"syscall"
)

// pipe makes a gate for another process.
func (b *bench) pipe() (path string, open func()) {
	b.t.Helper()
	path = filepath.Join(b.t.TempDir(), "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		b.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { f.Close() })
	return path, func() {
		if _, err := f.Write([]byte("x")); err != nil {
			b.t.Error(err)
		}
	}
}

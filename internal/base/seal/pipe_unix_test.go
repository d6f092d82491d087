//go:build unix

package seal

import (
	"path/filepath"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
)

func TestAPipeInTheKeysPlaceDoesNotHang(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, t.TempDir()} {
		if _, err := LoadKey(p); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

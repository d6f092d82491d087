//go:build unix

package seal

import (
	"path/filepath"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAPipeInTheKeysPlaceDoesNotHang(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	testkit.OK(t, syscall.Mkfifo(path, 0o600))
	for _, p := range []string{path, t.TempDir()} {
		if _, err := LoadKey(p); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAnOddFileIsRefusedAndDoesNotHang(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"large":  func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("#", maxFile+1)), 0o600) },
	} {
		p := newPlace(t)
		p.vars["RAMET_CONFIG"] = filepath.Join(t.TempDir(), "c")
		testkit.OK(t, make(p.vars["RAMET_CONFIG"]))
		if _, err := Load(p.options(false)); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

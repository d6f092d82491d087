package app

import (
	"io/fs"
	"path/filepath"
	"testing"

	"ramet/internal/core/config"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
)

// A kernel that cannot start leaves nothing behind that others could take for a kernel.
func TestAKernelThatCannotStartClosesItsSocket(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "RAMET_CONFIG"} {
		t.Setenv(name, "")
	}
	home := t.TempDir()
	ws := &session.Workspace{}
	ws.Home, ws.Place = home, config.WorkspaceLocation{Project: t.TempDir(), DB: filepath.Join(home, "ramet.db")}
	ws.Config = &config.Config{}
	ws.Peers = control.At(home, ws.Place.DB)
	if k, err := startKernel(t.Context(), ws, session.Kernel{}); err == nil {
		k.Close()
		t.Fatal("a kernel without a folder for its configuration starts")
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

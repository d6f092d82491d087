package app

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/face/cli"
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

// A kernel that refuses a command line says why, in either form: the command never ends as if it had been carried out.
func TestARefusedCommandLineFails(t *testing.T) {
	for body, want := range map[string]fault.Code{
		`{"code": "CONFLICT", "message": "another protocol"}`:          fault.Conflict,
		`{"error": {"code": "DENIED", "message": "not your command"}}`: fault.Denied,
		`{}`: fault.Failed,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }))
		t.Cleanup(server.Close)
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		}}}
		if _, ran, err := sendCommand(t.Context(), client, cli.Streams{}, cli.CommandRequest{}); !ran || !fault.Is(err, want) {
			t.Errorf("%s: %t %v", body, ran, err)
		}
	}
}

package rundir_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/rundir"
)

// elsewhere keeps all logs in a folder of its own, as a server does.
type elsewhere struct {
	files
	dir string
}

func (e elsewhere) at(runID string) string {
	dir := filepath.Join(e.dir, runID)
	os.MkdirAll(dir, 0o700)
	return dir
}

func (e elsewhere) Open(ctx context.Context, _ rundir.Kind, _, runID string, at rundir.Position) (run.Log, error) {
	return e.files.Open(ctx, rundir.NDJSON, e.at(runID), runID, at)
}

func (e elsewhere) OpenWriter(ctx context.Context, _ rundir.Kind, _, runID string, at rundir.Position) (run.Writer, string, error) {
	return e.files.OpenWriter(ctx, rundir.NDJSON, e.at(runID), runID, at)
}

// A beginning that was broken off behind the first event in a server is given again; what is
// another run's, or went on, is refused.
func TestABeginningThatWasBrokenOffIsGivenAgain(t *testing.T) {
	ctx, server := t.Context(), elsewhere{dir: t.TempDir()}
	const kind = "postgres://nobody/db"
	begin := func(config string) (*rundir.Store, *rundir.Session, error) {
		s := newStore(t, t.TempDir())
		s.Logs = server
		x, err := s.Begin(ctx, "r", kind, []byte("recipe: x\n"), map[string]any{"run_id": "r", "config_sha256": strings.Repeat(config, 64)})
		return s, x, err
	}
	_, x, err := begin("1")
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := begin("2"); !fault.Is(err, fault.Conflict) {
		t.Errorf("another configuration: %v", err)
	}
	s, x, err := begin("1")
	if err != nil {
		t.Fatal(err)
	}
	if n := x.Now().EventCount; n != 1 {
		t.Errorf("%d events", n)
	}
	if _, err := x.Append(ctx, rundir.Request{Type: run.GateRunStarted, Payload: []byte(`{"gate":"g"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := begin("1"); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that went on: %v", err)
	}
	if !s.Has("r") || s.Has("q") {
		t.Error("its folder is not known")
	}
}

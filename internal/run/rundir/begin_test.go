package rundir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/testkit"
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

func (e elsewhere) Open(ctx context.Context, _ rundir.Kind, _, runID string) (run.Log, error) {
	return e.files.Open(ctx, rundir.NDJSON, e.at(runID), runID)
}

func (e elsewhere) OpenWriter(ctx context.Context, _ rundir.Kind, _, runID string) (run.Writer, string, error) {
	return e.files.OpenWriter(ctx, rundir.NDJSON, e.at(runID), runID)
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
	testkit.OK(t, err)
	testkit.OK(t, x.Close())
	if _, _, err := begin("2"); !fault.Is(err, fault.Conflict) {
		t.Errorf("another configuration: %v", err)
	}
	s, x, err := begin("1")
	testkit.OK(t, err)
	if n := x.Now().EventCount; n != 1 {
		t.Errorf("%d events", n)
	}
	testkit.Must(x.Append(ctx, run.Request{Type: run.GateRunStarted, Payload: []byte(`{"gate":"g"}`)}))(t)
	testkit.OK(t, x.Close())
	if _, _, err := begin("1"); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that went on: %v", err)
	}
	if !s.Has("r") || s.Has("q") {
		t.Error("its folder is not known")
	}
}

// Of several who begin one run at once, one makes it, and the others are told so.
func TestOneOfManyMakesARun(t *testing.T) {
	s := newStore(t, t.TempDir())
	for n := range 20 {
		name := fmt.Sprintf("r%d", n)
		made := make(chan error)
		const many = 4
		for range many {
			go func() {
				x, err := s.Begin(t.Context(), name, rundir.NDJSON, []byte("recipe: x\n"), map[string]any{"run_id": name, "config_sha256": strings.Repeat("1", 64)})
				if err == nil {
					err = x.Close()
				}
				made <- err
			}()
		}
		good := 0
		for range many {
			if err := <-made; err == nil {
				good++
			} else if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(filepath.Join(s.Dir(name), "run_config.yaml")); good != 1 || err != nil {
			t.Errorf("%s: %d made it: %v", name, good, err)
		}
	}
	if names, err := s.List(); len(names) != 20 || err != nil {
		t.Errorf("%v: %v", names, err)
	}
}

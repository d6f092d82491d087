package rundir_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
	"ramet/internal/run/ndjson"
	"ramet/internal/run/rundir"
	"ramet/internal/run/sqllog"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// TestMain: each check syncs the disk hundreds of times, so a few must do.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// files keeps logs in the run's folder, as the binary does.
type files struct{}

func (files) Open(ctx context.Context, kind rundir.Kind, dir, _ string) (run.Log, error) {
	if kind == rundir.SQLite {
		return sqllog.OpenFile(ctx, filepath.Join(dir, "events.sqlite"))
	}
	return ndjson.Open(ctx, filepath.Join(dir, "events.ndjson"))
}

func (files) OpenWriter(ctx context.Context, kind rundir.Kind, dir, _ string) (run.Writer, string, error) {
	if kind == rundir.SQLite {
		w, err := sqllog.OpenFileWriter(ctx, filepath.Join(dir, "events.sqlite"))
		if err != nil {
			return nil, "", err
		}
		return w, "", nil
	}
	w, err := ndjson.OpenWriter(ctx, filepath.Join(dir, "events.ndjson"))
	if err != nil {
		return nil, "", err
	}
	return w, "", nil
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func newStore(t fataler, dir string) *rundir.Store {
	key := testkit.Must(seal.LoadKey(filepath.Join(dir, "keys", "key")))(t)
	return &rundir.Store{Root: filepath.Join(dir, "runs"), Logs: files{}, Now: time.Now,
		Key: func() (*seal.Key, error) { return key, nil }}
}

func begin(t fataler, s *rundir.Store, runID string, kind rundir.Kind) *rundir.Session {
	x := testkit.Must(s.Begin(context.Background(), runID, kind, []byte("{}\n"), map[string]any{"run_id": runID, "config_sha256": runtest.Sum}))(t)
	return x
}

// Whatever is appended, legal or not, with the run closed, reopened, forked and
// verified in between: what is refused changes nothing, the snapshot on the disk is
// the replay of its first events, and the state in memory is the replay of all.
func TestTheFolderNeverDiffersFromTheLog(t *testing.T) {
	for _, kind := range []rundir.Kind{rundir.NDJSON, rundir.SQLite} {
		t.Run(string(kind), func(t *testing.T) {
			all := t.TempDir()
			rapid.Check(t, func(rt *rapid.T) {
				dir := testkit.Must(os.MkdirTemp(all, ""))(rt)
				walk(rt, newStore(rt, dir), kind)
			})
		})
	}
}

func walk(t *rapid.T, s *rundir.Store, kind rundir.Kind) {
	ctx, dice := context.Background(), runtest.Dice(t)
	x := begin(t, s, "r0", kind)
	forks := 0
	for n := range 25 {
		switch dice.IntN(8) {
		case 0:
			testkit.OK(t, x.Close())
			again := testkit.Must(s.OpenSession(ctx, x.RunID, ""))(t)
			x = again
		case 1:
			forks++
			at := []string{"1", "2", "3", "99"}[dice.IntN(4)]
			y, err := s.Fork(ctx, x.RunID, at, fmt.Sprintf("r%d", forks), kind)
			if err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatal(err)
			}
			if err == nil {
				testkit.OK(t, x.Close())
				x = y
			}
		default:
			before := encode(t, x.Now())
			d := runtest.Step(dice, x.Now(), n)
			if _, err := x.Append(ctx, run.Request{Type: d.Type, Payload: d.Payload}); err != nil {
				if fault.CodeOf(err) != fault.InvalidEvent && fault.CodeOf(err) != fault.InvalidStateTransition {
					t.Fatal(err)
				}
				if !bytes.Equal(before, encode(t, x.Now())) {
					t.Fatalf("a refused %s changed the state", d.Type)
				}
			}
		}
		same(t, s, x)
	}
	testkit.OK(t, x.Close())
}

func encode(t fataler, s run.Snapshot) []byte {
	text := testkit.Must(s.Encode())(t)
	return text
}

func same(t *rapid.T, s *rundir.Store, x *rundir.Session) {
	ctx := context.Background()
	r := testkit.Must(s.Open(ctx, x.RunID, ""))(t)
	defer r.Close()
	all := testkit.Must(r.Replay(ctx))(t)
	if !bytes.Equal(encode(t, all), encode(t, x.Now())) {
		t.Fatalf("in memory:\n%s\nreplayed:\n%s", encode(t, x.Now()), encode(t, all))
	}
	quick, err := r.State(ctx)
	if err != nil || !bytes.Equal(encode(t, quick), encode(t, all)) {
		t.Fatalf("from the snapshot on: %v\n%s", err, encode(t, quick))
	}
	if truth, err := r.Truth(ctx); err != nil || !bytes.Equal(encode(t, truth), encode(t, all)) {
		t.Fatalf("the truth: %v", err)
	}
	if _, err := r.VerifyLog(ctx); err != nil { // no file is written here
		t.Fatal(err)
	}
}

func TestASecondWriterIsToldWhoHoldsTheRun(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	defer x.Close()
	_, err := s.OpenSession(t.Context(), "r", "")
	if !fault.Is(err, fault.Locked) {
		t.Fatalf("second writer: %v", err)
	}
	if _, err := s.Open(t.Context(), "r", ""); err != nil {
		t.Fatalf("a reader is not kept out: %v", err)
	}
}

func TestAReadOnlyFolderIsSaidToBeOne(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.Root = "/proc/ramet-runs"
	_, err := s.Begin(t.Context(), "r", rundir.NDJSON, nil, nil)
	if code := fault.CodeOf(err); code != fault.StorageReadOnly && code != fault.StorageIO {
		t.Fatalf("%s: %v", code, err)
	}
	if _, err := os.Stat(s.Root); err == nil {
		t.Fatal("it was made")
	}
}

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

// A run whose owner lives is not opened for appending, whatever its lock says: there are no logs that could be asked.
func TestARunWhoseOwnerLivesIsLocked(t *testing.T) {
	s := newStore(t, t.TempDir())
	const server = rundir.Kind("postgres://somewhere/db")
	begin(t, s, "r", rundir.NDJSON).Close()
	testkit.OK(t, s.PutAgent("r", "its agent"))
	s.Logs, s.Server = nil, string(server)
	asked := ""
	s.Owner = func(_ context.Context, agent string) (string, error) {
		asked = agent
		return "host:1:alive", nil
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.Locked) || asked != "its agent" {
		t.Errorf("%v, asked for %q", err, asked)
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.Locked) {
		t.Error(err)
	}
	s.Owner = func(context.Context, string) (string, error) {
		return "", fault.New(fault.StorageUnreachable, "nobody can tell")
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.StorageUnreachable) {
		t.Error(err)
	}
}

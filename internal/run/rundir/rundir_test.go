package rundir_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

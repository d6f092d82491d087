package rundir_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/testkit"
)

var errInjected = errors.New("this step fails, for a test")

// failing counts what verbs do on the disk and with logs, and lets one of these steps fail, and all after it if onward.
type failing struct {
	files
	left   int
	onward bool
	failed string
}

func (f *failing) step(what string) error {
	if f.left--; f.left > 0 || f.left < 0 && (!f.onward || f.failed == "") {
		return nil
	}
	f.failed = what
	return errInjected
}

func (f *failing) Open(ctx context.Context, kind rundir.Kind, dir, id string) (run.Log, error) {
	if err := f.step("open"); err != nil {
		return nil, err
	}
	l, err := f.files.Open(ctx, kind, dir, id)
	if err != nil {
		return nil, err
	}
	return failingLog{l, f}, nil
}

func (f *failing) OpenWriter(ctx context.Context, kind rundir.Kind, dir, id string) (run.Writer, string, error) {
	if err := f.step("open writer"); err != nil {
		return nil, "", err
	}
	w, said, err := f.files.OpenWriter(ctx, kind, dir, id)
	if err != nil {
		return nil, said, err
	}
	return failingWriter{w, failingLog{w, f}}, said, nil
}

type failingLog struct {
	run.Log
	f *failing
}

func (l failingLog) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	if err := l.f.step("events"); err != nil {
		return func(yield func(run.Entry, error) bool) { yield(run.Entry{}, err) }
	}
	return l.Log.Events(ctx, after)
}

func (l failingLog) Last(ctx context.Context) (run.Entry, bool, error) {
	if err := l.f.step("last"); err != nil {
		return run.Entry{}, false, err
	}
	return l.Log.Last(ctx)
}

type failingWriter struct {
	run.Writer
	log failingLog
}

func (w failingWriter) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	return w.log.Events(ctx, after)
}

func (w failingWriter) Last(ctx context.Context) (run.Entry, bool, error) { return w.log.Last(ctx) }

func (w failingWriter) Append(ctx context.Context, drafts ...run.Draft) ([]run.Event, error) {
	if err := w.log.f.step("append"); err != nil {
		return nil, err
	}
	return w.Writer.Append(ctx, drafts...)
}

// No verb of a run says that it has succeeded when a step of it on the disk or with its log failed, alone or with all
// after it as in a process that is killed. Afterwards the run is there, or can be made again; it is verified, and goes on.
func TestNoVerbOfARunSucceedsWithAFailedStep(t *testing.T) {
	ctx, f := t.Context(), &failing{}
	s := newStore(t, t.TempDir())
	s.Logs = f
	config := []byte("{}\n")
	start := func(id string) (*rundir.Session, error) {
		return s.Begin(ctx, id, rundir.NDJSON, config, map[string]any{"run_id": id, "config_sha256": fmt.Sprintf("%x", sha256.Sum256(config))})
	}
	x := testkit.Must(start("r0"))(t)
	testkit.Must(x.Append(ctx, run.Request{Type: "TEST_NOTE", Payload: []byte(`{}`)}))(t)
	testkit.OK(t, x.Close())
	fork := testkit.Must(s.Fork(ctx, "r0", "1", "child", rundir.NDJSON))(t)
	old, err := fork.Checkpoints()
	if err != nil || len(old) == 0 {
		t.Fatalf("%d checkpoints, %v", len(old), err)
	}
	testkit.OK(t, fork.Close())
	session := func(do func(x *rundir.Session) error) func(int) error {
		return func(int) error {
			x, err := s.OpenSession(ctx, "child", "")
			if err != nil {
				return err
			}
			return errors.Join(do(x), x.Close())
		}
	}
	reader := func(do func(r *rundir.Reader) error) func(int) error {
		return func(int) error {
			r, err := s.Open(ctx, "child", "")
			if err != nil {
				return err
			}
			return errors.Join(do(r), r.Close())
		}
	}
	verbs := map[string]func(n int) error{
		"begin": func(n int) error {
			x, err := start(fmt.Sprintf("b%d-%t", n, f.onward))
			if err != nil {
				return err
			}
			return x.Close()
		},
		"fork": func(n int) error {
			x, err := s.Fork(ctx, "r0", "2", fmt.Sprintf("f%d-%t", n, f.onward), rundir.NDJSON)
			if err != nil {
				return err
			}
			return x.Close()
		},
		"append": session(func(x *rundir.Session) error {
			return ignored(x.Append(ctx, run.Request{Type: "TEST_NOTE", Payload: []byte(`{}`)}))
		}),
		"snapshot": session(func(x *rundir.Session) error { return x.PutSnapshot(false) }),
		"settle":   session(func(x *rundir.Session) error { return x.Settle() }),
		"replay":   reader(func(r *rundir.Reader) error { return ignored(r.Replay(ctx)) }),
		"state":    reader(func(r *rundir.Reader) error { return ignored(r.State(ctx)) }),
		"truth":    reader(func(r *rundir.Reader) error { return ignored(r.Truth(ctx)) }),
		"verify":   reader(func(r *rundir.Reader) error { return ignored(r.VerifyLog(ctx)) }),
		"prove":    reader(func(r *rundir.Reader) error { return ignored(r.ProveInclusion(ctx, "1")) }),
		"grown":    reader(func(r *rundir.Reader) error { return ignored(r.ProveConsistency(ctx, old[0])) }),
		"own":      reader(func(r *rundir.Reader) error { return r.Own(ctx) }),
		"consent":  reader(func(r *rundir.Reader) error { return ignored(r.Consent(ctx)) }),
	}
	writers := []string{"begin", "fork", "append", "snapshot", "settle"}
	comesBack := func(name string, n int) error {
		id := "child"
		if made := map[string]string{"begin": "b", "fork": "f"}[name]; made != "" {
			if id = fmt.Sprintf("%s%d-%t", made, n, f.onward); !s.Has(id) {
				testkit.OK(t, verbs[name](n))
			}
		}
		x, err := s.OpenSession(ctx, id, "")
		if err != nil {
			return err
		}
		_, err = x.Append(ctx, run.Request{Type: "TEST_NOTE", Payload: []byte(`{}`)})
		if err = errors.Join(err, x.PutSnapshot(false), x.Close()); err != nil {
			return err
		}
		r, err := s.Open(ctx, id, "")
		if err != nil {
			return err
		}
		return errors.Join(ignored(r.VerifyLog(ctx)), r.Close())
	}
	for name, verb := range verbs {
		for _, f.onward = range []bool{false, true} {
			for n := 1; n < 200 && (!f.onward || slices.Contains(writers, name)); n++ {
				f.left, f.failed = n, ""
				step.Hook = f.step
				err := verb(n)
				step.Hook = nil
				failed := f.failed
				f.left, f.failed = 0, ""
				switch {
				case failed == "" && err != nil:
					t.Errorf("%s: %v", name, err)
				case failed != "" && failed != "remove" && err == nil: // a file that is left is not a failure
					t.Errorf("%s succeeds although step %d failed: %s", name, n, failed)
				}
				if failed == "" {
					if n == 1 {
						t.Errorf("%s has no steps: the test shows nothing", name)
					}
					break
				}
				if !f.onward {
					continue
				}
				if err := comesBack(name, n); err != nil {
					t.Errorf("%s, killed before step %d (%s): %v", name, n, failed, err)
				}
			}
		}
	}
}

// A run that another continues is not removed, whichever step fails of finding that out.
func TestARunThatAnotherContinuesIsNotRemoved(t *testing.T) {
	ctx, f := t.Context(), &failing{}
	s := newStore(t, t.TempDir())
	s.Logs = f
	x := begin(t, s, "parent", rundir.NDJSON)
	goTo(t, x, run.Done)
	testkit.OK(t, errors.Join(x.Close(), testkit.Must(s.Fork(ctx, "parent", "1", "child", rundir.NDJSON))(t).Close()))
	for n := 1; f.failed != "" || n == 1; n++ {
		f.left, f.failed = n, ""
		if err := s.Remove(ctx, "parent", false); err == nil || f.failed == "" && !fault.Is(err, fault.Conflict) || !s.Has("parent") {
			t.Fatalf("step %d (%s) fails: %v", n, f.failed, err)
		}
	}
	f.left = 0
	damaged := filepath.Join(s.Dir("child"), "events.ndjson")
	testkit.OK(t, os.WriteFile(damaged, []byte("{}\n"), 0o600))
	if err := s.Remove(ctx, "parent", false); !fault.Is(err, fault.Conflict) || !s.Has("parent") {
		t.Errorf("its child cannot be read: %v", err)
	}
	if err := s.Remove(ctx, "parent", true); err != nil || s.Has("parent") {
		t.Errorf("by force: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Root, ".gone*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A signed head of a log is on the disk before Settle returns.
func TestASignedHeadIsSynced(t *testing.T) {
	x := begin(t, newStore(t, t.TempDir()), "r", rundir.NDJSON)
	defer x.Close()
	var steps []string
	step.Hook = func(label string) error { steps = append(steps, label); return nil }
	err := x.Settle()
	step.Hook = nil
	if n := len(steps); err != nil || n < 3 || steps[n-2] != "write" || steps[n-1] != "sync" {
		t.Errorf("%q, %v", steps, err)
	}
}

func ignored[T any](_ T, err error) error { return err }

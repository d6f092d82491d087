package rundir_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

func say(t *testing.T, x *rundir.Session, kind run.Type, payload string) error {
	t.Helper()
	_, err := x.Append(t.Context(), run.Request{Type: kind, Payload: []byte(payload)})
	return err
}

func to(x *rundir.Session, state run.State) string {
	return fmt.Sprintf(`{"old_state":%q,"new_state":%q}`, x.Now().RunState, state)
}

// goTo walks to a state.
func goTo(t *testing.T, x *rundir.Session, state run.State) {
	t.Helper()
	for _, next := range run.States()[1:] {
		if next == run.Fixing {
			continue
		}
		testkit.OK(t, say(t, x, run.RunStateChanged, to(x, next)))
		if next == state {
			return
		}
	}
}

func reopen(t *testing.T, s *rundir.Store, x *rundir.Session) *rundir.Session {
	t.Helper()
	testkit.OK(t, x.Close())
	x = testkit.Must(s.OpenSession(t.Context(), x.RunID, ""))(t)
	return x
}

// What cannot have happened is refused by the writer, in the same session and in one
// that knows the past from the disk alone, and nothing is written.
func TestWhatCannotBeIsNotAppended(t *testing.T) {
	call := func(id, rest string) string { return fmt.Sprintf(`{"call_id":%q,"latency_ms":1,%s}`, id, rest) }
	started := func(id string) string {
		return fmt.Sprintf(`{"call_id":%q,"model":"m","provider_base_url":"","prompt_hash":"h","temperature":0,"max_tokens":1}`, id)
	}
	const answer = `"token_usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2},"finish_reason":"stop","output_hash":"h"`
	const error = `"error_class":"X","error_summary":"","retryable":false`
	s := newStore(t, t.TempDir())
	for _, again := range []bool{false, true} {
		x := begin(t, s, fmt.Sprintf("r-%v", again), rundir.NDJSON)
		next := func() {
			if again {
				x = reopen(t, s, x)
			}
		}
		refused := func(kind run.Type, payload string, code fault.Code) {
			t.Helper()
			next()
			before := x.Now().EventCount
			if err := say(t, x, kind, payload); !fault.Is(err, code) || x.Now().EventCount != before {
				t.Errorf("%s %s: %v, want %s", kind, payload, err, code)
			}
			next()
			if x.Now().EventCount != before {
				t.Errorf("%s %s was written", kind, payload)
			}
		}
		accepted := func(kind run.Type, payload string) {
			t.Helper()
			next()
			testkit.OK(t, say(t, x, kind, payload))
		}
		refused(run.LLMCallFinished, call("c1", answer), fault.InvalidEvent)
		refused(run.LLMCallFailed, call("c1", error), fault.InvalidEvent)
		accepted(run.LLMCallStarted, started("c1"))
		refused(run.LLMCallFinished, call("c2", answer), fault.InvalidEvent)
		accepted(run.LLMCallFinished, call("c1", answer))
		refused(run.LLMCallFinished, call("c1", answer), fault.InvalidEvent)
		refused(run.LLMCallFailed, call("c1", error), fault.InvalidEvent)
		accepted(run.LLMCallStarted, started("c1")) // after a resume it has the same id
		accepted(run.LLMCallFailed, call("c1", error))

		refused(run.PullRequestOpened, `{"url":"https://example.org/1"}`, fault.InvalidStateTransition)
		for _, path := range []string{"../x", "/etc/passwd", "a/../b", "..", ".", "a\x00b", "./"} {
			name, _ := json.Marshal(path)
			refused(run.ArtifactWritten, fmt.Sprintf(`{"name":"x","path":%s,"sha256":%q,"schema_id":"x"}`, name, runtest.Sum), fault.InvalidEvent)
			refused(run.WorkItemQueued, fmt.Sprintf(`{"work_item_id":"%s:w:1:s","worker":"w","attempt":1,"scope_key":"s","inputs":[%s],"outputs":[]}`,
				x.RunID, name), fault.InvalidEvent)
			refused(run.WorkItemQueued, fmt.Sprintf(`{"work_item_id":"%s:w:1:s","worker":"w","attempt":1,"scope_key":"s","inputs":[],"outputs":[{"path":%s}]}`,
				x.RunID, name), fault.InvalidEvent)
		}
		goTo(t, x, run.ReadyForPR)
		refused(run.PullRequestOpened, `{"bundle":"/tmp/x.bundle"}`, fault.InvalidEvent)
		accepted(run.PullRequestOpened, `{"bundle":"reports/pr.bundle"}`)
		next()
		testkit.OK(t, say(t, x, run.RunStateChanged, to(x, run.PROpened)))
		accepted(run.RunCompleted, `{}`)
		refused(run.RunCompleted, `{}`, fault.InvalidStateTransition)
		refused(run.RunFailed, `{"code":"X","message":""}`, fault.InvalidStateTransition)
		refused(run.RunCancelled, `{"reason":""}`, fault.InvalidStateTransition)
		accepted(run.RunStateChanged, to(x, run.Done))
		refused(run.RunCompleted, `{}`, fault.InvalidStateTransition)
		testkit.OK(t, x.Close())
	}
}

// What is written together is known together, also to a session that reads the log only for what
// the second of them needs.
func TestWhatComesTogetherIsNotForgotten(t *testing.T) {
	started := func(id string) run.Request {
		return run.Request{Type: run.LLMCallStarted, Payload: fmt.Appendf(nil, `{"call_id":%q,"model":"m","provider_base_url":"","prompt_hash":"h","temperature":0,"max_tokens":1}`, id)}
	}
	failed := func(id string) run.Request {
		return run.Request{Type: run.LLMCallFailed, Payload: fmt.Appendf(nil, `{"call_id":%q,"latency_ms":1,"error_class":"X","error_summary":"","retryable":false}`, id)}
	}
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	for _, together := range [][]run.Request{{started("a")}, {started("b"), failed("a")}, {failed("b")}, {started("c"), failed("c")}} {
		if len(together) == 2 {
			x = reopen(t, s, x)
		}
		testkit.Must(x.Append(t.Context(), together...))(t)
	}
	if _, err := x.Append(t.Context(), started("d"), failed("c")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("a call ended twice: %v", err)
	}
	if _, err := x.Append(t.Context(), failed("d")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("one that was not written: %v", err)
	}
	testkit.OK(t, x.Close())
}

// A crash may keep how a run ended and lose the step to that state. Whoever ends it again
// finishes the job; a run that was reopened may end again.
func TestAnEndThatACrashCutInHalfIsFinished(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	testkit.OK(t, say(t, x, run.RunFailed, `{"code":"NO_PROGRESS","message":"m"}`))
	x = reopen(t, s, x)
	end := func(state run.State, kind run.Type, payload string) {
		t.Helper()
		testkit.Must(x.Append(t.Context(), run.Request{Type: kind, Payload: []byte(payload)},
			run.Request{Type: run.RunStateChanged, Payload: []byte(to(x, state))}))(t)
	}
	end(run.Failed, run.RunFailed, `{"code":"NO_PROGRESS","message":"m"}`)
	if n := x.Now(); n.RunState != run.Failed || n.EventCount != 3 || n.Failure.Code != "NO_PROGRESS" {
		t.Fatalf("%+v", n)
	}
	testkit.OK(t, say(t, x, run.RunReopened, `{}`))
	testkit.OK(t, say(t, x, run.RunStateChanged, `{"old_state":"FAILED","new_state":"CREATED","reason":"RUN_REOPENED"}`))
	end(run.Cancelled, run.RunCancelled, `{"reason":"enough"}`)
	if n := x.Now(); n.RunState != run.Cancelled || n.EventCount != 7 {
		t.Fatalf("%+v", n)
	}
	testkit.OK(t, x.Close())
}

// A log that another writer made, with what ours would refuse, is read all the same.
func TestALogThatOursWouldNotHaveWrittenIsRead(t *testing.T) {
	from, s := newStore(t, t.TempDir()), newStore(t, t.TempDir())
	x := begin(t, from, "r", rundir.NDJSON)
	testkit.OK(t, x.Close())
	w, _, err := files{}.OpenWriter(t.Context(), rundir.NDJSON, from.Dir("r"), "r")
	testkit.OK(t, err)
	var drafts []run.Draft
	for i, one := range []struct {
		kind    run.Type
		payload string
	}{
		{run.ArtifactWritten, `{"name":"x","path":"../../x","schema_id":"x","sha256":"` + runtest.Sum + `"}`},
		{run.PullRequestOpened, `{"url":"https://example.org/1"}`},
		{run.LLMCallFailed, `{"call_id":"c","error_class":"X","error_summary":"","latency_ms":1,"retryable":false}`},
		{run.RunFailed, `{"code":"X","message":""}`}, {run.RunFailed, `{"code":"X","message":""}`},
	} {
		d := runtest.Draft(100+i, one.kind, one.payload)
		d.RunID = "r"
		drafts = append(drafts, d)
	}
	testkit.Must(w.Append(t.Context(), drafts...))(t)
	testkit.OK(t, w.Close())
	lines := testkit.Must(os.ReadFile(filepath.Join(from.Dir("r"), "events.ndjson")))(t)
	y := testkit.Must(s.Import(t.Context(), lines, rundir.NDJSON))(t)
	testkit.OK(t, y.Close())
	for _, s := range []*rundir.Store{from, s} {
		r := testkit.Must(s.Open(t.Context(), "r", ""))(t)
		proof, err := r.Verify(t.Context())
		if err != nil || proof.Events != 6 || proof.Unchecked != 1 {
			t.Errorf("%+v %v", proof, err)
		}
		if _, err := r.Truth(t.Context()); err != nil {
			t.Error(err)
		}
		testkit.OK(t, r.Close())
	}
}

// forge rewrites the log of a run so that all of its links fit, and makes a snapshot to
// go with it: whoever can write the folder can do that.
func forge(t *testing.T, s *rundir.Store, runID string, change func([]run.Event) []run.Event) {
	t.Helper()
	path := filepath.Join(s.Dir(runID), "events.ndjson")
	text := testkit.Must(os.ReadFile(path))(t)
	var events []run.Event
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		e := testkit.Must(run.ParseLine(line))(t)
		events = append(events, e)
	}
	var out bytes.Buffer
	reducer, prev := run.NewReducer(run.New(runID)), ""
	for _, e := range change(events) {
		e.PrevHash = prev
		e.Hash = e.Sum()
		prev = e.Hash
		testkit.OK(t, reducer.Apply(e))
		out.Write(append(e.Line(), '\n'))
	}
	testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o600))
	snapshot := testkit.Must(reducer.Snapshot().Encode())(t)
	testkit.OK(t, os.WriteFile(filepath.Join(s.Dir(runID), "snapshot.json"), snapshot, 0o600))
}

// A writer does not go on with a log that is not the one that was signed, also where
// links and snapshot fit.
func TestAWriterComparesTheCheckpointsOfTheFolder(t *testing.T) {
	cut := func(all []run.Event) []run.Event { return all[:3] }
	rewrite := func(all []run.Event) []run.Event {
		all[1].TS = "2001-01-01T00:00:00Z"
		return all
	}
	last := func(all []run.Event) []run.Event {
		all[3].TS = "2001-01-01T00:00:00Z"
		return all
	}
	for name, change := range map[string]func([]run.Event) []run.Event{"cut": cut, "rewritten": rewrite, "the last line": last} {
		for _, tail := range []int{0, 3} {
			s := newStore(t, t.TempDir())
			x := begin(t, s, "r", rundir.NDJSON)
			testkit.OK(t, say(t, x, run.GateRunStarted, `{"gate":"links"}`))
			testkit.OK(t, say(t, x, run.GateRunFinished, `{"gate":"links","ok":true,"issues":[]}`))
			testkit.OK(t, say(t, x, run.RunStateChanged, to(x, run.ClonedInputs)))
			for range tail {
				testkit.OK(t, say(t, x, run.GateRunStarted, `{"gate":"links"}`))
			}
			testkit.OK(t, x.Close())
			x, err := s.OpenSession(t.Context(), "r", "")
			testkit.OK(t, err) // as it was written
			testkit.OK(t, x.Close())
			text := testkit.Must(os.ReadFile(filepath.Join(s.Dir("r"), "events.ndjson")))(t)
			forge(t, s, "r", change)
			if x, err := s.OpenSession(t.Context(), "r", ""); !fault.Is(err, fault.EventChainBroken) {
				if err == nil {
					x.Close()
				}
				t.Errorf("%s, %d lines behind: %v", name, tail, err)
			}
			forge(t, s, "r", func([]run.Event) []run.Event { return parse(t, text) })
			x = testkit.Must(s.OpenSession(t.Context(), "r", ""))(t)
			testkit.OK(t, x.Close())
		}
	}
}

func parse(t *testing.T, text []byte) (out []run.Event) {
	for _, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		e := testkit.Must(run.ParseLine(line))(t)
		out = append(out, e)
	}
	return out
}

// A run without checkpoints has only its snapshot to show that its log was cut or rewritten: nothing is
// appended to such a log. A replay opens it, and a damaged snapshot stops nobody.
func TestAWriterComparesTheSnapshot(t *testing.T) {
	cut := func(all []run.Event) []run.Event { return all[:1] }
	rewrite := func(all []run.Event) []run.Event {
		all[1].TS = "2001-01-01T00:00:00Z"
		return all
	}
	for _, c := range []struct {
		name     string
		change   func([]run.Event) []run.Event
		snapshot func([]byte) []byte
		want     string // what a writer is told; empty: it is let in
	}{
		{"as it was", nil, bytes.Clone, ""},
		{"cut", cut, bytes.Clone, "run r has 1 events, its snapshot was made of 2"},
		{"rewritten", rewrite, bytes.Clone, "run r line 2 "},
		{"a damaged snapshot", nil, func(text []byte) []byte { return text[1:] }, ""},
		{"a snapshot of another run", cut, func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte(`"run_id": "r"`), []byte(`"run_id": "q"`))
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t, t.TempDir())
			x := begin(t, s, "r", rundir.NDJSON)
			goTo(t, x, run.ClonedInputs)
			testkit.OK(t, say(t, x, run.GateRunStarted, `{"gate":"links"}`))
			testkit.OK(t, x.Close())
			at := func(name string) string { return filepath.Join(s.Dir("r"), name) }
			text, err := os.ReadFile(at("snapshot.json"))
			testkit.OK(t, err)
			if c.change != nil {
				forge(t, s, "r", c.change)
			}
			testkit.OK(t, os.WriteFile(at("snapshot.json"), c.snapshot(text), 0o600))
			testkit.OK(t, os.Remove(at("checkpoints")))
			x, err = s.OpenSession(t.Context(), "r", "")
			if c.want == "" {
				testkit.OK(t, err)
				testkit.OK(t, x.Close())
			} else if !fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a writer: %v", err)
			}
			x = testkit.Must(s.OpenForReplay(t.Context(), "r", ""))(t)
			testkit.OK(t, x.PutSnapshot(true))
			testkit.OK(t, x.Close())
			x = testkit.Must(s.OpenSession(t.Context(), "r", ""))(t)
			testkit.OK(t, x.Close())
		})
	}
}

// Checkpoints of another home cannot be checked, but what they say must be true.
func TestAWriterComparesCheckpointsOfOthersToo(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	goTo(t, x, run.Ingested)
	testkit.OK(t, x.Close())
	other := testkit.Must(seal.LoadKey(filepath.Join(t.TempDir(), "key")))(t)
	s.Key = func() (*seal.Key, error) { return other, nil }
	x = testkit.Must(s.OpenSession(t.Context(), "r", ""))(t)
	testkit.OK(t, x.Close())
	forge(t, s, "r", func(all []run.Event) []run.Event { return all[:2] })
	if _, err := s.OpenSession(t.Context(), "r", ""); !fault.Is(err, fault.EventChainBroken) {
		t.Errorf("a cut log: %v", err)
	}
}

// write makes a file of the run and says so in the log.
func write(t *testing.T, s *rundir.Store, x *rundir.Session, name, content string) {
	t.Helper()
	f := testkit.Must(s.OpenFiles(x.RunID))(t)
	defer f.Close()
	staged := testkit.Must(f.Stage(name, []byte(content)))(t)
	testkit.OK(t, staged.Commit())
	sum := sha256.Sum256([]byte(content))
	testkit.OK(t, say(t, x, run.ArtifactWritten, fmt.Sprintf(`{"name":%q,"path":%q,"sha256":%q,"schema_id":"x"}`, name, name, hex.EncodeToString(sum[:]))))
}

func TestVerifyComparesTheFiles(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	write(t, s, x, "artifacts/a.md", "first")
	write(t, s, x, "artifacts/a.md", "second")
	write(t, s, x, "artifacts/b.md", "b")
	verify := func() (rundir.Proof, error) {
		r := testkit.Must(s.Open(t.Context(), "r", ""))(t)
		defer r.Close()
		return r.Verify(t.Context())
	}
	if p, err := verify(); err != nil || p.Artifacts != 2 || p.Unchecked != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	changed := func(what string, names ...string) {
		t.Helper()
		_, err := verify()
		if !fault.Is(err, fault.ArtifactChanged) {
			t.Errorf("%s: %v", what, err)
			return
		}
		for _, name := range names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %q does not name %s", what, err, name)
			}
		}
	}
	at := func(name string) string { return filepath.Join(s.Dir("r"), filepath.FromSlash(name)) }
	testkit.OK(t, os.WriteFile(at("artifacts/a.md"), []byte("third"), 0o600))
	changed("another content", "artifacts/a.md was changed")
	testkit.OK(t, os.Remove(at("artifacts/a.md")))
	testkit.OK(t, os.Remove(at("artifacts/b.md")))
	changed("deleted", "artifacts/a.md is missing", "artifacts/b.md is missing")
	outside := filepath.Join(t.TempDir(), "b.md")
	testkit.OK(t, os.WriteFile(outside, []byte("b"), 0o600))
	testkit.OK(t, os.WriteFile(at("artifacts/a.md"), []byte("second"), 0o600))
	testkit.OK(t, os.Symlink(outside, at("artifacts/b.md")))
	changed("a link that leaves the folder", "artifacts/b.md")
	r := testkit.Must(s.Open(t.Context(), "r", ""))(t)
	if p, err := r.VerifyLog(t.Context()); err != nil || p.Unchecked != 2 {
		t.Errorf("the log alone: %+v %v", p, err)
	}
	testkit.OK(t, r.Close())
	testkit.OK(t, x.Close())
}

// A file gets its name before its event is written: what an interrupted item may have
// replaced is no damage.
func TestVerifyWaitsForAnInterruptedItem(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	write(t, s, x, "drafts/a.md", "first")
	testkit.OK(t, say(t, x, run.WorkItemQueued,
		`{"work_item_id":"r:w:1:s","worker":"w","attempt":1,"scope_key":"s","inputs":[],"outputs":[{"path":"drafts/**"}]}`))
	testkit.OK(t, say(t, x, run.WorkItemStarted, `{"work_item_id":"r:w:1:s"}`))
	testkit.OK(t, os.WriteFile(filepath.Join(s.Dir("r"), "drafts", "a.md"), []byte("second"), 0o600))
	r := testkit.Must(s.Open(t.Context(), "r", ""))(t)
	defer r.Close()
	if p, err := r.Verify(t.Context()); err != nil || p.Unchecked != 1 {
		t.Errorf("%+v %v", p, err)
	}
	testkit.OK(t, say(t, x, run.WorkItemFinished, `{"work_item_id":"r:w:1:s","outputs":[]}`))
	if _, err := r.Verify(t.Context()); !fault.Is(err, fault.ArtifactChanged) {
		t.Errorf("it is finished: %v", err)
	}
	testkit.OK(t, x.Close())
}

func TestVerifyTellsOfATornTail(t *testing.T) {
	s := newStore(t, t.TempDir())
	x := begin(t, s, "r", rundir.NDJSON)
	testkit.OK(t, x.Close())
	path := filepath.Join(s.Dir("r"), "events.ndjson")
	text := testkit.Must(os.ReadFile(path))(t)
	for tail, bytes := range map[string]int64{"": 0, `{"event_hash":"00`: 17, "\x00\x00\x00": 3} {
		testkit.OK(t, os.WriteFile(path, append(text[:len(text):len(text)], tail...), 0o600))
		r := testkit.Must(s.Open(t.Context(), "r", ""))(t)
		p, err := r.Verify(t.Context())
		switch {
		case err != nil:
			t.Error(err)
		case bytes == 0 && p.Torn != nil:
			t.Errorf("nothing is torn: %+v", *p.Torn)
		case bytes > 0 && (p.Torn == nil || *p.Torn != run.Tail{Line: 2, Offset: int64(len(text)), Bytes: bytes}):
			t.Errorf("%q: %+v", tail, p.Torn)
		}
		testkit.OK(t, r.Close())
	}
}

func TestOnlyTheOwnerReadsARun(t *testing.T) {
	for _, kind := range []rundir.Kind{rundir.NDJSON, rundir.SQLite} {
		s := newStore(t, t.TempDir())
		x := begin(t, s, "r", kind)
		write(t, s, x, "artifacts/deep/a.md", "a")
		testkit.OK(t, s.PutAgent("r", "uuid"))
		testkit.OK(t, x.Close())
		testkit.OK(t, filepath.WalkDir(s.Root, func(path string, d os.DirEntry, err error) error {
			testkit.OK(t, err)
			info := testkit.Must(d.Info())(t)
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s is %v", kind, path, info.Mode())
			}
			return nil
		}))
	}
}

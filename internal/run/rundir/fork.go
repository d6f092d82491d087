package rundir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// Begin makes a new run: its folder, its configuration and RUN_CREATED.
func (s *Store) Begin(ctx context.Context, runID string, kind Kind, config []byte, payload map[string]any) (*Session, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	return s.build(ctx, runID, kind, config, func(x *Session) error {
		if broken, err := x.onlyBegun(ctx, text); broken || err != nil {
			return err
		}
		_, err := x.Append(ctx, run.Request{Type: run.RunCreated, Payload: text})
		return err
	})
}

// onlyBegun reports whether a server holds nothing of the run but the first event, as it would be
// written now: the process that began it lost the server, and left no folder.
func (x *Session) onlyBegun(ctx context.Context, payload []byte) (bool, error) {
	last, any, err := x.log.Last(ctx)
	if err != nil || !any {
		return false, err
	}
	want, err := chain.Canonical(payload)
	if err != nil {
		return false, err
	}
	if last.Line == 1 && last.Type == run.RunCreated && bytes.Equal(last.Payload, want) {
		return true, nil
	}
	return false, runExists(x.RunID)
}

// build makes a run under another name and gives it its own when all of it is
// there, so that a command that was killed left no run that looks whole, and can
// be given again.
func (s *Store) build(ctx context.Context, runID string, kind Kind, config []byte, begin func(*Session) error) (*Session, error) {
	if err := run.CheckRunID(runID); err != nil {
		return nil, err
	}
	if err := s.admitAll(); err != nil {
		return nil, err
	}
	err := s.whileLocked(ctx, func() error {
		if s.Has(runID) {
			return runExists(runID)
		}
		return s.makeAside(runID, func(aside *Store) error { return aside.fill(ctx, runID, kind, config, begin) })
	})
	if err != nil {
		return nil, err
	}
	return s.OpenSession(ctx, runID, kind)
}

// makeAside makes the folder of a run under another name, and gives it its own when fill is done.
func (s *Store) makeAside(runID string, fill func(*Store) error) error {
	aside := *s
	aside.Root = filepath.Join(s.Root, ".new-"+runID)
	if err := step.RemoveAll(aside.Root); err != nil { // left by one that was killed
		return durable.Failure("remove", aside.Root, err)
	}
	defer step.RemoveAll(aside.Root)
	if err := fill(&aside); err != nil {
		return err
	}
	if err := step.Rename(aside.Dir(runID), s.Dir(runID)); errors.Is(err, fs.ErrExist) {
		return runExists(runID)
	} else if err != nil {
		return durable.Failure("name run", s.Dir(runID), err)
	}
	return durable.SyncFolder(s.Root)
}

// whileLocked makes a run while no other process makes one in this folder: two of one name would take
// each other's files for those of one that was killed.
func (s *Store) whileLocked(ctx context.Context, do func() error) error {
	if err := durable.MakeFolder(s.Root, 0o700); err != nil {
		return err
	}
	return durable.While(ctx, filepath.Join(s.Root, ".new"), do)
}

func (s *Store) fill(ctx context.Context, runID string, kind Kind, config []byte, begin func(*Session) error) error {
	if err := s.create(runID, kind, config); err != nil {
		return err
	}
	x, err := s.OpenSession(ctx, runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(begin(x), x.Close())
}

// requireEmptyLog refuses a run of which a server has something already.
func (x *Session) requireEmptyLog(ctx context.Context) error {
	_, any, err := x.log.Last(ctx)
	if err == nil && any {
		err = runExists(x.RunID)
	}
	return err
}

// Fork makes a run that continues another from one of its events, named by id or
// by its number in the log. The events before it are shared; the configuration and the files
// that its state vouches for are copied. Without a kind its log is where that of the other is.
func (s *Store) Fork(ctx context.Context, parentID, at, runID string, kind Kind) (*Session, error) {
	parent, err := s.Open(ctx, parentID, "")
	if err != nil {
		return nil, err
	}
	if kind == "" {
		kind = parent.Kind
	}
	state, fork, err := parent.until(ctx, at)
	if err != nil {
		return nil, errors.Join(err, parent.Close())
	}
	if fork.ParentRunID != parentID {
		// An event that the run itself inherited: continue the one that wrote it.
		if err := parent.Close(); err != nil {
			return nil, err
		}
		if parent, err = s.Open(ctx, fork.ParentRunID, ""); err != nil {
			return nil, err
		}
	}
	config, err := os.ReadFile(filepath.Join(s.Dir(parentID), configFile))
	if err != nil {
		config = nil // a run from elsewhere may have none
	}
	if runID == "" {
		runID = s.NewID(append([]byte(parentID+at), config...))
	}
	text, err := json.Marshal(fork)
	if err != nil {
		return nil, errors.Join(err, parent.Close())
	}
	return s.build(ctx, runID, kind, config, func(x *Session) error {
		if err := x.requireEmptyLog(ctx); err != nil {
			return err
		}
		x.parent, x.fork, x.reducer = parent, fork, run.NewReducer(state)
		if err := s.copyFiles(parentID, x, state); err != nil {
			return err
		}
		_, err := x.Append(ctx, run.Request{Type: run.RunForked, Payload: text})
		return err
	})
}

// copyFiles gives a fork the files that its state vouches for, as far as the other run still has
// them as they were then, so that nothing is done again. What is missing is made
// again when it is resumed.
func (s *Store) copyFiles(parentID string, x *Session, state run.Snapshot) error {
	from, err := s.OpenFiles(parentID)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := x.store.OpenFiles(x.RunID)
	if err != nil {
		return err
	}
	defer to.Close()
	sums := VouchedFiles(state)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if have, ok := from.Hash(name); !ok || have != sums[name] || !run.IsPath(name) {
			continue
		}
		data, err := from.Read(name)
		if err != nil {
			return err
		}
		staged, err := to.Stage(name, data)
		if err != nil {
			return err
		}
		if err := staged.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// VouchedFiles returns the files that a state vouches for, by path, with their hashes: the outputs
// of completed items, and artifacts.
func VouchedFiles(state run.Snapshot) map[string]string {
	sums := map[string]string{}
	for _, item := range run.LatestAttempts(state.WorkItems) {
		for _, f := range item.Outputs {
			if item.Status == run.Completed && f.SHA256 != nil {
				sums[f.Path] = *f.SHA256
			}
		}
	}
	for _, a := range state.Artifacts {
		if sums[a.Path] == "" {
			sums[a.Path] = a.SHA256
		}
	}
	return sums
}

// until replays a run up to and including one event.
func (r *Reader) until(ctx context.Context, at string) (run.Snapshot, run.Fork, error) {
	number, _ := strconv.ParseInt(at, 10, 64)
	var found run.Fork
	reducer, err := r.replay(ctx, func(reducer *run.Reducer, e run.Entry) (bool, error) {
		if e.ID != at && reducer.Count() != number {
			return false, nil
		}
		found = run.Fork{ParentRunID: e.RunID, EventID: e.ID, EventHash: e.Hash, EventCount: reducer.Count()}
		return true, nil
	})
	if err != nil || found.EventCount > 0 {
		return reducer.Snapshot(), found, err
	}
	return run.Snapshot{}, run.Fork{}, fault.New(fault.NotFound, "run %s has no event %.60q", r.RunID, at).
		WithHint("`ramet run events %s` lists them; give an event_id or a number", r.RunID)
}

// Import makes a run from the lines of an export: the same bytes, all verified.
func (s *Store) Import(ctx context.Context, data []byte, kind Kind) (*Session, error) {
	drafts, err := readLines(ctx, data)
	if err != nil {
		return nil, err
	}
	return s.build(ctx, drafts[0].RunID, kind, nil, func(x *Session) error {
		if err := x.requireEmptyLog(ctx); err != nil {
			return err
		}
		if _, err := x.w.Append(ctx, drafts...); err != nil {
			return err
		}
		if err := x.load(ctx); err != nil {
			return err
		}
		return x.Settle()
	})
}

func readLines(ctx context.Context, data []byte) ([]run.Draft, error) {
	text, ended := bytes.CutSuffix(data, []byte("\n"))
	if len(data) == 0 {
		return nil, fault.New(fault.InvalidEvent, "the export is empty")
	}
	stream := run.VerifiedStream{Lines: func(yield func(run.Entry, error) bool) {
		e := run.Entry{Line: 1}
		for _, e.Raw = range bytes.Split(text, []byte("\n")) {
			if !yield(e, nil) {
				return
			}
			e.Line, e.Offset = e.Line+1, e.Offset+int64(len(e.Raw))+1
		}
	}}
	var drafts []run.Draft
	var reducer *run.Reducer
	for e, err := range stream.Events(ctx) {
		if bad, ok := errors.AsType[*run.BadLine](err); ok {
			return nil, run.ChainBroken("the export", bad.Line, bad.Offset, "%v", bad.Reason)
		}
		if err != nil {
			return nil, err
		}
		if reducer == nil {
			if e.Type == run.RunForked {
				return nil, fault.New(fault.InvalidEvent, "the export begins with a fork of run %s", e.RunID)
			}
			reducer = run.NewReducer(run.New(e.RunID))
		}
		if err := errors.Join(run.CheckPayload(e.Type, e.Payload), reducer.Apply(e.Event)); err != nil {
			return nil, run.ChainBroken("the export", e.Line, e.Offset, "%v", err)
		}
		drafts = append(drafts, run.Draft{ID: e.ID, RunID: e.RunID, TS: e.TS, Type: e.Type, Payload: e.Payload,
			TraceID: e.TraceID, SpanID: e.SpanID, ParentSpan: e.ParentSpan})
	}
	if last := stream.Last; !ended {
		return nil, run.ChainBroken("the export", last.Line, last.Offset, "the last line has no line feed")
	}
	return drafts, nil
}

// Handover holds the first files of a folder for a run whose log is in a server, on another host
// than the one where it was begun.
type Handover struct {
	Kind   Kind // the server
	Config []byte
	Agent  string // the run's own agent; empty: it has none yet
}

// Receive makes the folder of a run that was begun elsewhere, if it is not there yet. One that
// is there with another configuration is CONFLICT.
func (s *Store) Receive(ctx context.Context, runID string, e Handover) error {
	if err := run.CheckRunID(runID); err != nil {
		return err
	}
	if err := s.admitAll(); err != nil {
		return err
	}
	return s.whileLocked(ctx, func() error {
		if !s.Has(runID) {
			return s.makeAside(runID, func(aside *Store) error {
				if err := aside.create(runID, e.Kind, e.Config); err != nil {
					return err
				}
				return aside.receiveAgent(runID, e)
			})
		}
		have, err := s.ConfigSum(runID)
		if err != nil {
			return err
		}
		if have != chain.Sum(e.Config).String() {
			return fault.New(fault.Conflict, "run %s is here already, with another configuration", runID).
				WithHint("nothing was changed; give another folder with RAMET_RUNS")
		}
		return s.receiveAgent(runID, e)
	})
}

func (s *Store) receiveAgent(runID string, e Handover) error {
	if e.Agent == "" {
		return nil
	}
	return s.PutAgent(runID, e.Agent)
}

// TakeOver opens a run that was received, and makes it our own. Its log must be whole, and begin
// with the configuration that was received; else it is UNTRUSTED, and nothing was written.
func (s *Store) TakeOver(ctx context.Context, runID string, kind Kind) (*Session, error) {
	x, err := s.OpenSession(ctx, runID, kind)
	if err != nil {
		return nil, err
	}
	if err := x.inherit(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Session) inherit(ctx context.Context) error {
	began, err := x.began(ctx)
	if err != nil {
		return err
	}
	sum, err := x.store.ConfigSum(x.RunID)
	if err != nil {
		return err
	}
	if sum != began {
		return untrustedRun(x.RunID, "what was left to its heir is not the configuration that it began with")
	}
	if x.Own(ctx) == nil {
		return nil
	}
	consent, err := x.Consent(ctx)
	if err != nil {
		return err
	}
	return x.Adopt(ctx, consent)
}

package rundir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// Session is a run, open for appending, by one holder at a time.
type Session struct {
	*Reader
	Repaired string // what was cut from a torn tail; empty: nothing

	w       run.Writer
	reducer *run.Reducer
	tree    *signedTree // of the lines of this run's own log
	guard   *run.AppendGuard
	trace   string
	ours    bool  // see sign
	differs error // the log is not the one that the stored snapshot was made of
}

// OpenSession opens a run for appending. All of its log is read and compared with the checkpoints and the snapshot in
// its folder.
func (s *Store) OpenSession(ctx context.Context, runID string, said Kind) (*Session, error) {
	x, err := s.OpenForReplay(ctx, runID, said)
	if err == nil && x.differs != nil {
		return nil, errors.Join(x.differs, x.Close())
	}
	return x, err
}

// OpenForReplay does what OpenSession does, but lets in a log that does not fit the snapshot, which is to be made again.
func (s *Store) OpenForReplay(ctx context.Context, runID string, said Kind) (*Session, error) {
	kind, err := s.kind(runID, said)
	if err != nil {
		return nil, err
	}
	if err := s.needOrphan(ctx, runID, kind); err != nil {
		return nil, err
	}
	x := &Session{Reader: &Reader{store: s, RunID: runID, Kind: kind}}
	if x.w, x.Repaired, err = s.Logs.OpenWriter(ctx, kind, s.Dir(runID), runID); err != nil {
		return nil, err
	}
	x.log = x.w
	if err = x.findParent(ctx, 0); err == nil {
		err = x.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	x.ours = x.reducer.Count() == x.inherited() // it is new
	return x, nil
}

// needOrphan refuses with LOCKED a run whose owner lives, before its lock is touched.
func (s *Store) needOrphan(ctx context.Context, runID string, kind Kind) error {
	if s.Owner == nil || !kind.Remote() {
		return nil
	}
	agent, ok, err := s.Agent(runID)
	if err != nil || !ok {
		return err
	}
	owner, err := s.Owner(ctx, agent)
	if err != nil || owner == "" {
		return err
	}
	return fault.New(fault.Locked, "run %s is carried out by %s", runID, owner).WithHint("wait until it ends, or end it")
}

// load reads the log up to its end: what it amounts to, and whether it is what was signed. Checkpoints that others
// signed cannot be checked, but their claims must be true all the same.
func (x *Session) load(ctx context.Context) error {
	notes, err := x.readNotes(true)
	if err != nil {
		return err
	}
	if x.tree, err = x.newSignedTree(notes); err != nil {
		return err
	}
	stored, _, hasSnapshot, damage := x.Stored()
	hasSnapshot = hasSnapshot && damage == nil && stored.RunID == x.RunID // as in State
	x.reducer, x.guard, x.differs = x.Reader.reducer(), &run.AppendGuard{}, nil
	for e, err := range x.Events(ctx, 0) {
		if err != nil {
			return err
		}
		if err := x.reducer.Apply(e.Event); err != nil {
			return unfitEvent(x.RunID, e, err)
		}
		if hasSnapshot && x.reducer.Count() == stored.EventCount && e.Hash != stored.LastEventHash {
			x.differs = notLastOfSnapshot(x.RunID, e)
		}
		x.guard.Note(e.Type, e.Payload)
		if x.trace = e.TraceID; x.reducer.Count() > x.inherited() {
			if err := x.tree.add(e); err != nil {
				return err
			}
		}
	}
	if hasSnapshot && x.reducer.Count() < stored.EventCount {
		x.differs = tooFar(runPlace(x.RunID), stored.EventCount, x.reducer.Count())
	}
	return x.tree.end(x.RunID)
}

// Now is the run's state at the end of the log.
func (x *Session) Now() run.Snapshot { return x.reducer.Snapshot() }

// CurrentState returns the run state of Now without copying the snapshot.
func (x *Session) CurrentState() run.State { return x.reducer.State() }

// Count returns the number of events in the log.
func (x *Session) Count() int64 { return x.reducer.Count() }

// Append checks, links and writes events, all or none, and returns when they are
// durable. After a transition it writes snapshot and checkpoint too.
func (x *Session) Append(ctx context.Context, requests ...run.Request) ([]run.Event, error) {
	drafts := make([]run.Draft, len(requests))
	for i, q := range requests {
		d, err := x.draft(q)
		if err != nil {
			return nil, err
		}
		drafts[i] = d
	}
	// Reduced before they are written: nothing gets into the log that could not
	// be replayed. If writing fails, the state is read from the log again.
	transition := false
	drafts = x.completeEnd(drafts)
	for i, d := range drafts {
		err := x.guard.Check(x.reducer.State(), d.Type, d.Payload)
		if err == nil {
			err = x.reducer.Apply(d.Link(x.reducer.Hash()))
		}
		if err != nil {
			if i > 0 {
				err = errors.Join(err, x.load(ctx))
			}
			return nil, err
		}
		x.guard.Note(d.Type, d.Payload)
		transition = transition || d.Type == run.RunStateChanged || d.Type == run.RunCreated || d.Type == run.RunForked
	}
	events, err := x.w.Append(ctx, drafts...)
	if err != nil {
		if reload := x.load(ctx); reload != nil {
			return nil, errors.Join(err, reload)
		}
		return nil, err
	}
	for _, e := range events {
		x.tree.Add(e.Line())
	}
	if transition {
		return events, x.Settle()
	}
	return events, nil
}

func (x *Session) draft(q run.Request) (run.Draft, error) {
	payload, err := chain.Canonical(q.Payload)
	if err != nil {
		return run.Draft{}, fault.New(fault.InvalidEvent, "payload of %s: %w", q.Type, err).WithHint("give a JSON object")
	}
	if err := cmp.Or(run.CheckType(q.Type), run.CheckPayload(q.Type, payload), run.CheckPaths(q.Type, payload)); err != nil {
		return run.Draft{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return run.Draft{}, err
	}
	d := run.Draft{ID: id.String(), RunID: x.RunID, TS: run.FormatTime(x.store.Now()), Type: q.Type, Payload: payload,
		TraceID: x.trace, SpanID: q.SpanID, ParentSpan: q.ParentSpan}
	if d.TraceID == "" {
		d.TraceID = strings.ReplaceAll(uuid.NewString(), "-", "")
		x.trace = d.TraceID
	}
	if d.SpanID == "" {
		d.SpanID = strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	}
	return d, run.CheckSpans(d.SpanID, d.ParentSpan)
}

// Settle writes the snapshot and signs the head of the log. The log is never
// read for this.
func (x *Session) Settle() error {
	if err := durable.Write(x.file(snapshotFile), 0o600, x.reducer.Write); err != nil {
		return err
	}
	return x.sign()
}

// sign adds a checkpoint, if the run is new or was signed by us before: appending to a log that was found in a folder
// is not enough.
func (x *Session) sign() error {
	if !x.ours {
		notes, err := x.Checkpoints()
		x.ours = err == nil && len(notes) > 0
	}
	if !x.ours {
		return nil
	}
	key, err := x.store.Key()
	if err != nil {
		return err
	}
	note, err := key.Sign(run.Checkpoint{RunID: x.RunID, Size: x.tree.Size(), Root: x.tree.Root()}.Text())
	if err != nil {
		return err
	}
	path := x.file(checkpointFile)
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(note, '\n'))
	return durable.Failure("write", path, errors.Join(err, f.Sync(), f.Close()))
}

// PutSnapshot replaces snapshot.json by the replay of all events; a damaged one is
// kept next to it.
func (x *Session) PutSnapshot(damaged bool) error {
	if damaged {
		bad := x.file(snapshotFile) + ".bad-" + x.store.Now().UTC().Format("20060102T150405Z")
		if err := step.Rename(x.file(snapshotFile), bad); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.StorageIO, "keep %s: %w", bad, err)
		}
	}
	return durable.Write(x.file(snapshotFile), 0o600, x.reducer.Write)
}

// completeEnd lets a run end of which a crash kept the first half: it is written how it
// ended, but not the step to that state. A caller that gives both again writes the
// step alone.
func (x *Session) completeEnd(drafts []run.Draft) []run.Draft {
	end := slices.IndexFunc(drafts, func(d run.Draft) bool {
		return d.Type == run.RunCompleted || d.Type == run.RunFailed || d.Type == run.RunCancelled
	})
	if end < 0 || end+1 >= len(drafts) || !run.EndsRun(drafts[end+1].Type, drafts[end+1].Payload) || x.reducer.State().Terminal() || !x.guard.Ended() {
		return drafts
	}
	return slices.Delete(drafts, end, end+1)
}

package rundir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// Reader is a run, open for reading.
type Reader struct {
	store  *Store
	RunID  string
	Kind   Kind
	log    run.Log
	parent *Reader
	fork   run.Fork // where this run left its parent
}

// Open opens a run for reading, with the runs that it was forked from.
func (s *Store) Open(ctx context.Context, runID string, said Kind) (*Reader, error) {
	return s.open(ctx, runID, said, 0)
}

// maxForks bounds the ancestry of runs, so that a loop made by hand ends.
const maxForks = 1000

func (s *Store) open(ctx context.Context, runID string, said Kind, depth int) (*Reader, error) {
	kind, err := s.kind(runID, said)
	if err != nil {
		return nil, err
	}
	r := &Reader{store: s, RunID: runID, Kind: kind}
	if r.log, err = s.Logs.Open(ctx, kind, s.Dir(runID), runID); err != nil {
		return nil, err
	}
	if err := r.findParent(ctx, depth); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// findParent looks at the first event: a fork names the run it continues.
func (r *Reader) findParent(ctx context.Context, depth int) error {
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return err
		}
		if e.Type != run.RunForked {
			return nil
		}
		if r.fork, err = run.ParseFork(e.Event); err != nil {
			return err
		}
		if depth == maxForks {
			return fault.New(fault.EventChainBroken, "run %s has more than %d ancestors", r.RunID, maxForks)
		}
		kind := Kind("") // the one that the folder of that run names
		if r.Kind.Remote() && !r.store.Has(r.fork.ParentRunID) {
			kind = r.Kind // it has none, as on a host that took the run over: the same server
		}
		r.parent, err = r.store.open(ctx, r.fork.ParentRunID, kind, depth+1)
		if err != nil {
			return fault.New(fault.CodeOf(err), "run %s continues run %s: %w", r.RunID, r.fork.ParentRunID, err)
		}
		return nil
	}
	return nil
}

// Close gives back the logs.
func (r *Reader) Close() error {
	err := r.log.Close()
	if r.parent != nil {
		err = errors.Join(err, r.parent.Close())
	}
	return err
}

// inherited returns the number of events that come from the parent.
func (r *Reader) inherited() int64 {
	if r.parent == nil {
		return 0
	}
	return r.fork.EventCount
}

// Events streams all events after the first n, those of ancestors first,
// verified.
func (r *Reader) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		if r.parent != nil && after < r.fork.EventCount {
			if !r.prefix(ctx, after, yield) {
				return
			}
		}
		r.log.Events(ctx, max(0, after-r.inherited()))(yield)
	}
}

// prefix yields the parent's events up to the fork, and checks that the fork
// is where it says.
func (r *Reader) prefix(ctx context.Context, after int64, yield func(run.Entry, error) bool) bool {
	n := after
	for e, err := range r.parent.Events(ctx, after) {
		if err != nil {
			yield(e, err)
			return false
		}
		n++
		if n == r.fork.EventCount && (e.Hash != r.fork.EventHash || e.ID != r.fork.EventID) {
			yield(e, run.ChainBroken(runPlace(r.parent.RunID), e.Line, e.Offset, "run %s was forked from another event %d", r.RunID, n))
			return false
		}
		if !yield(e, nil) {
			return false
		}
		if n == r.fork.EventCount {
			return true
		}
	}
	yield(run.Entry{}, tooFar(runPlace(r.parent.RunID), r.fork.EventCount, n))
	return false
}

// Replay reduces all events.
func (r *Reader) Replay(ctx context.Context) (run.Snapshot, error) {
	reducer, err := r.replay(ctx, nil)
	return reducer.Snapshot(), err
}

// replay reduces all events. see, if it is not nil, is called after each and stops the replay with done.
func (r *Reader) replay(ctx context.Context, see func(reducer *run.Reducer, e run.Entry) (done bool, err error)) (*run.Reducer, error) {
	reducer := r.reducer()
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			return reducer, err
		}
		if err := reducer.Apply(e.Event); err != nil {
			return reducer, unfitEvent(r.RunID, e, err)
		}
		if see == nil {
			continue
		}
		if done, err := see(reducer, e); done || err != nil {
			return reducer, err
		}
	}
	return reducer, nil
}

// reducer begins with the oldest ancestor's name: RUN_FORKED changes it.
func (r *Reader) reducer() *run.Reducer {
	root := r
	for root.parent != nil {
		root = root.parent
	}
	return run.NewReducer(run.New(root.RunID))
}

// unfitEvent returns the error of an event that is linked and cannot have happened.
func unfitEvent(runID string, e run.Entry, err error) error {
	return run.ChainBroken(runPlace(runID), e.Line, e.Offset, "%v", err)
}

// Stored reads snapshot.json as it is; ok is false if there is none. A damaged
// one is EVENT_CHAIN_BROKEN.
func (r *Reader) Stored() (s run.Snapshot, raw []byte, ok bool, err error) {
	path := r.file(snapshotFile)
	raw, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, false, nil
	}
	if err != nil {
		return s, nil, false, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	if s, err = run.DecodeSnapshot(raw); err != nil {
		return s, raw, true, fault.New(fault.EventChainBroken, "%s: %w", path, err).
			WithHint("`ramet run replay` makes it again from the log")
	}
	return s, raw, true, nil
}

// State returns the run as it is now: the snapshot, if there is a good one, and the
// events after it. Only those are read.
func (r *Reader) State(ctx context.Context) (run.Snapshot, error) {
	s, _, ok, err := r.Stored()
	if err != nil || !ok || s.RunID != r.RunID {
		return r.Replay(ctx) // the log is the truth
	}
	last, any, err := r.log.Last(ctx)
	if err != nil || any && last.Hash == s.LastEventHash {
		return s, err
	}
	reducer, n := run.NewReducer(s), s.EventCount-1
	for e, err := range r.Events(ctx, n) {
		if n++; err == nil && n > s.EventCount {
			if err = reducer.Apply(e.Event); err != nil {
				err = unfitEvent(r.RunID, e, err)
			}
		} else if err == nil && e.Hash != s.LastEventHash {
			err = notLastOfSnapshot(r.RunID, e)
		}
		if err != nil {
			return s, err
		}
	}
	if n < s.EventCount {
		return s, tooFar(runPlace(r.RunID), s.EventCount, n)
	}
	return reducer.Snapshot(), nil
}

// Truth returns the run as all its events give it, for people to see: unlike State it does
// not trust the stored snapshot, and refuses one that is not the replay.
func (r *Reader) Truth(ctx context.Context) (run.Snapshot, error) {
	stored, raw, ok, err := r.Stored()
	switch {
	case err != nil:
		return stored, err
	case !ok:
		return r.Replay(ctx)
	}
	now, lines, err := r.Compare(ctx, stored, raw)
	if err == nil && len(lines) > 0 {
		err = differentSnapshot(r.RunID, stored.EventCount)
	}
	return now, err
}

// Compare replays all events, and returns the lines in which a stored snapshot differs from the replay of as many
// events as it has.
func (r *Reader) Compare(ctx context.Context, stored run.Snapshot, raw []byte) (now run.Snapshot, lines []string, err error) {
	reducer, err := r.replay(ctx, func(reducer *run.Reducer, _ run.Entry) (bool, error) {
		if reducer.Count() != stored.EventCount {
			return false, nil
		}
		want, err := reducer.Snapshot().Encode()
		if err == nil && !bytes.Equal(want, raw) {
			lines = diffLines(want, raw)
		}
		return false, err
	})
	if err == nil && reducer.Count() < stored.EventCount {
		err = tooFar(runPlace(r.RunID), stored.EventCount, reducer.Count())
	}
	return reducer.Snapshot(), lines, err
}

// maxDiff limits the differing lines that are shown.
const maxDiff = 20

// diffLines shows where two texts differ, line by line, as people read it: - is what
// the log says, + what the file says. Equal lines at the beginning and the end
// are left out.
func diffLines(want, have []byte) []string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(have), "\n")
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	endA, endB := len(a), len(b)
	for endA > from && endB > from && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	var out []string
	add := func(sign string, lines []string) {
		for i, line := range lines {
			if i == maxDiff {
				out = append(out, fmt.Sprintf("%s … %d lines more", sign, len(lines)-i))
				break
			}
			out = append(out, fmt.Sprintf("%s %d: %s", sign, from+i+1, line))
		}
	}
	add("-", a[from:endA])
	add("+", b[from:endB])
	return out
}

// Own reports whether a run is this home's: every checkpoint in its folder is signed by the
// home's key and fits the log, there is one, the configuration is the one that the first
// event names, and the same holds for the runs that it continues. Else it is UNTRUSTED,
// with the reason: its folder may have come from anywhere.
func (r *Reader) Own(ctx context.Context) error {
	for up := r; up != nil; up = up.parent {
		if why, err := up.foreign(ctx); err != nil || why != "" {
			return errors.Join(err, untrustedRun(up.RunID, why))
		}
	}
	began, err := r.began(ctx)
	if err != nil {
		return err
	}
	sum, err := r.store.ConfigSum(r.RunID)
	if err == nil && sum != began {
		return untrustedRun(r.RunID, configFile+" is not the one that the run began with")
	}
	return err
}

func untrustedRun(runID, why string) error {
	if why == "" {
		return nil
	}
	return fault.New(fault.Untrusted, "run %s is not yours: %s", runID, why)
}

// foreign returns why the log of this run is not ours, or "".
func (r *Reader) foreign(ctx context.Context) (why string, err error) {
	notes, err := r.Checkpoints()
	switch f, known := fault.Of(err); {
	case known && f.Code == fault.EventChainBroken:
		return f.Message, nil
	case err != nil:
		return "", err
	case len(notes) == 0:
		return "it is not signed", nil
	}
	for _, n := range notes {
		if n.RunID != r.RunID {
			return "a checkpoint in its folder is that of run " + n.RunID, nil
		}
	}
	tree, err := r.newSignedTree(notes)
	if err != nil {
		return "", err
	}
	const changed = "its log is not what was signed"
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return "", err
		}
		if tree.add(e) != nil {
			return changed, nil
		}
	}
	if tree.end(r.RunID) != nil {
		return changed, nil
	}
	return "", nil
}

// began returns the hash of the configuration that the first event names; of a fork, the first event of the run that
// it continues.
func (r *Reader) began(ctx context.Context) (string, error) {
	for r.parent != nil {
		r = r.parent
	}
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return "", err
		}
		var p struct {
			Sum string `json:"config_sha256"`
		}
		err := json.Unmarshal(e.Payload, &p)
		return p.Sum, err
	}
	return "", nil
}

// ConfigSum returns the SHA-256 of the run's configuration as it is now.
func (s *Store) ConfigSum(runID string) (string, error) {
	files, err := s.OpenFiles(runID)
	if err != nil {
		return "", err
	}
	defer files.Close()
	sum, ok := files.Hash(configFile)
	if !ok {
		return "", fault.New(fault.NotFound, "run %s has no %s", runID, configFile)
	}
	return sum, nil
}

// Consent returns a digest of the run as it is now, which a person accepts before this home carries out a run that
// is not its own: lower-case hexadecimal of
//
//	SHA-256("ramet run consent 1\n" || run id || "\n" || SHA-256 of its configuration ||
//	"\n" || hash of its last event || "\n")
func (r *Reader) Consent(ctx context.Context) (string, error) {
	config, err := r.store.ConfigSum(r.RunID)
	if err != nil {
		return "", err
	}
	last, _, err := r.log.Last(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "ramet run consent 1\n%s\n%s\n%s\n", r.RunID, config, last.Hash))
	return hex.EncodeToString(sum[:]), err
}

// Adopt makes a run our own: the checkpoints of others are put aside, and the log is signed as it is. UNTRUSTED:
// the run no longer has the digest that was accepted, and nothing was changed.
func (x *Session) Adopt(ctx context.Context, consent string) error {
	now, err := x.Consent(ctx)
	if err != nil {
		return err
	}
	if now != consent {
		return fault.New(fault.Untrusted, "run %s has changed since you were asked", x.RunID).WithHint("nothing was done; look again")
	}
	path := x.file(checkpointFile)
	if err := step.Rename(path, path+".foreign"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("rename", path, err)
	}
	x.ours = true
	return x.Settle()
}

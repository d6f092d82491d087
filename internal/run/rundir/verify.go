package rundir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
)

// Proof counts what a verification found in order.
type Proof struct {
	RunID       string `json:"run_id"`
	Events      int64  `json:"events"`      // ancestors' included
	Lines       int64  `json:"lines"`       // of this run's own log
	Checkpoints int    `json:"checkpoints"` // met, of those in the folder
	Covered     int64  `json:"covered"`     // own lines under the newest checkpoint met
	Elsewhere   bool   `json:"elsewhere"`   // a checkpoint kept elsewhere was met
	Snapshot    string `json:"snapshot"`    // ok, behind, none
	Artifacts   int    `json:"artifacts"`   // files that are what the log says
	Unchecked   int    `json:"unchecked_artifacts"`
	Removed     int    `json:"removed_files"` // taken away, as the log says
	// Torn describes the incomplete line that a crash left at the end; nil if there is none.
	Torn *run.Tail `json:"torn_tail"`
}

// Checkpoints reads the notes in the run's folder, those signed with our key.
func (r *Reader) Checkpoints() ([]run.Checkpoint, error) {
	return r.readNotes(func(note, verifier string) (run.Checkpoint, error) { return OpenCheckpoint([]byte(note), verifier) })
}

func (r *Reader) file(name string) string { return filepath.Join(r.store.Dir(r.RunID), name) }

// splitNotes cuts a file of notes apart: each ends with its signatures and an
// empty line. An unfinished last one is left out: it was never acknowledged.
func splitNotes(text string) []string {
	const origin = "ramet/1 run\n"
	var out []string
	for _, part := range strings.Split(text, origin)[1:] {
		if strings.HasSuffix(part, "\n\n") {
			out = append(out, origin+strings.TrimSuffix(part, "\n"))
		}
	}
	return out
}

// OpenCheckpoint checks the signature of a checkpoint.
func OpenCheckpoint(note []byte, verifier string) (run.Checkpoint, error) {
	text, err := seal.Open(note, verifier)
	if err != nil {
		var other *seal.OtherKeyError
		if errors.As(err, &other) {
			f := fault.New(fault.EventChainBroken, "the checkpoint is signed by %s, not by %s",
				strings.Join(other.Got, ", "), other.Want).WithHint("give the signer's key with --key")
			f.Err = other
			return run.Checkpoint{}, f
		}
		return run.Checkpoint{}, fault.New(fault.EventChainBroken, "the checkpoint's signature does not fit: %w", err).
			WithHint("it was changed, or is not a checkpoint")
	}
	return run.ParseCheckpoint(text)
}

// Verify reads everything: links, hashes, meaning, snapshot, the tree against the
// checkpoints in the folder and those kept elsewhere, and the files whose hashes are
// in the log.
func (r *Reader) Verify(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	w := newFileAudit(r.RunID)
	p, err := r.verify(ctx, w, elsewhere)
	if err != nil {
		return p, err
	}
	return p, w.check(r.store, &p)
}

// VerifyAll is Verify, and holds the configuration against the one that the run began with: what a
// run did is proved only together with what it was to do. One that came as a log alone has none.
func (r *Reader) VerifyAll(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	p, err := r.Verify(ctx, elsewhere...)
	if err != nil {
		return p, err
	}
	began, err := r.began(ctx)
	if err != nil || began == "" {
		return p, err
	}
	info, err := os.Stat(r.file(configFile))
	if err != nil || info.Size() == 0 {
		return p, nil
	}
	have, err := r.store.ConfigSum(r.RunID)
	if err == nil && have != began {
		err = fault.New(fault.ArtifactChanged, "run %s: %s was changed: its SHA-256 is %.16s…, in the log it is %.16s…", r.RunID, configFile, have, began).
			WithHint("restore it from a copy; --log-only checks the log alone")
	}
	return p, err
}

// VerifyLog is Verify without the files.
func (r *Reader) VerifyLog(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	w := newFileAudit(r.RunID)
	p, err := r.verify(ctx, w, elsewhere)
	p.Unchecked = w.all()
	return p, err
}

func (r *Reader) verify(ctx context.Context, w *fileAudit, elsewhere []run.Checkpoint) (Proof, error) {
	p := Proof{RunID: r.RunID, Snapshot: "none"}
	stored, raw, hasSnapshot, err := r.Stored()
	if err != nil {
		return p, err
	}
	own, err := r.Checkpoints()
	if err != nil {
		return p, err
	}
	tree, err := r.newSignedTree(append(own, elsewhere...))
	if err != nil {
		return p, err
	}
	reducer := r.reducer()
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			return p, err
		}
		// A log that another program wrote may be linked and still be wrong.
		if err := errors.Join(run.CheckPayload(e.Type, e.Payload), reducer.Apply(e.Event)); err != nil {
			return p, unfitEvent(r.RunID, e, err)
		}
		w.note(e.Event)
		p.Events++
		if p.Events > r.inherited() {
			if err := tree.add(e); err != nil {
				return p, err
			}
		}
		if hasSnapshot && p.Events == stored.EventCount {
			if err := sameSnapshot(reducer, raw, r.RunID); err != nil {
				return p, err
			}
			p.Snapshot = "ok"
		}
	}
	p.Lines, p.Checkpoints, p.Covered = tree.Size(), tree.met, tree.covered
	if err := tree.end(r.RunID); err != nil {
		return p, err
	}
	if hasSnapshot && p.Snapshot == "none" {
		return p, tooFar(runPlace(r.RunID), stored.EventCount, p.Events)
	}
	p.Elsewhere = len(elsewhere) > 0
	w.items = reducer.Snapshot().WorkItems
	return p, r.tail(ctx, &p)
}

// tail reports a torn end of the log.
func (r *Reader) tail(ctx context.Context, p *Proof) error {
	log, can := r.log.(run.Torn)
	if !can {
		return nil
	}
	tail, torn, err := log.Torn(ctx)
	if torn {
		p.Torn = &tail
	}
	return err
}

func cutShort(runID string, have, signed int64) error {
	return fault.New(fault.EventChainBroken, "run %s has %d lines, a checkpoint was signed over %d", runID, have, signed).
		WithHint("the log was cut; restore it from a copy")
}

func sameSnapshot(reducer *run.Reducer, raw []byte, runID string) error {
	want, err := reducer.Snapshot().Encode()
	if err != nil {
		return err
	}
	if string(want) == string(raw) {
		return nil
	}
	return differentSnapshot(runID, reducer.Count())
}

func differentSnapshot(runID string, events int64) error {
	return fault.New(fault.EventChainBroken, "the snapshot of run %s is not the replay of its first %d events", runID, events).
		WithHint("`ramet run replay --check` shows where it differs; `ramet run replay` makes it again")
}

// LastCheckpoint reads the newest checkpoint of a file, which may be a copy of a
// run's checkpoints or a single note.
func LastCheckpoint(data []byte, verifier string) (run.Checkpoint, error) {
	notes := splitNotes(string(data))
	if len(notes) == 0 {
		return OpenCheckpoint(data, verifier)
	}
	return OpenCheckpoint([]byte(notes[len(notes)-1]), verifier)
}

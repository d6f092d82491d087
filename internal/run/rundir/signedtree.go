package rundir

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
)

// signedTree is the tree of a run's own lines, which is compared with checkpoints as it grows.
type signedTree struct {
	run.Tree
	due     map[int64][]tlog.Hash // roots of the checkpoints that were not met yet, by size
	met     int
	covered int64 // lines under the newest checkpoint met
}

// newSignedTree makes a tree that must meet all checkpoints.
func (r *Reader) newSignedTree(notes []run.Checkpoint) (*signedTree, error) {
	t := &signedTree{due: map[int64][]tlog.Hash{}}
	for _, c := range notes {
		if c.RunID != r.RunID {
			return nil, fault.New(fault.EventChainBroken, "the checkpoint is of run %s, not of %s", c.RunID, r.RunID).
				WithHint("give the checkpoint of this run")
		}
		t.due[c.Size] = append(t.due[c.Size], c.Root)
	}
	return t, nil
}

// add adds a line. EVENT_CHAIN_BROKEN: the lines up to this one are not those that were signed.
func (t *signedTree) add(e run.Entry) error {
	t.Add(e.Raw)
	for _, root := range t.due[t.Size()] {
		if root != t.Root() {
			return run.ChainBroken(runPlace(e.RunID), e.Line, e.Offset, "the lines up to here are not those that were signed")
		}
		t.met++
		t.covered = t.Size()
	}
	delete(t.due, t.Size())
	return nil
}

// end refuses a log that is shorter than what was signed.
func (t *signedTree) end(runID string) error {
	for size := range t.due {
		return cutShort(runID, t.Size(), size)
	}
	return nil
}

// notes returns the checkpoints in the folder, also those that are signed with another key.
func (r *Reader) notes() ([]run.Checkpoint, error) {
	return r.readNotes(func(note, verifier string) (run.Checkpoint, error) {
		c, err := OpenCheckpoint([]byte(note), verifier)
		if _, foreign := errors.AsType[*seal.OtherKeyError](err); foreign {
			text, _, _ := strings.Cut(note, "\n\n") // whose signature cannot be checked here
			return run.ParseCheckpoint(text + "\n")
		}
		return c, err
	})
}

// readNotes reads the checkpoints in the folder with open.
func (r *Reader) readNotes(open func(note, verifier string) (run.Checkpoint, error)) ([]run.Checkpoint, error) {
	text, err := os.ReadFile(r.file(checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read %s: %w", r.file(checkpointFile), err)
	}
	key, err := r.store.Key()
	if err != nil {
		return nil, err
	}
	var out []run.Checkpoint
	for _, note := range splitNotes(string(text)) {
		c, err := open(note, key.Verifier())
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

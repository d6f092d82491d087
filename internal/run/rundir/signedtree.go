package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
)

// growTree makes the tree of the log's lines, and compares it with the checkpoints of
// the folder: a writer continues what was signed or refuses. What it signs later
// covers the lines that were signed before, not those that are there now.
//
// The tree is kept as it was one line before the last checkpoint. That line is read,
// and must give the signed root; what is before it need not be read again.
func (x *Session) growTree(ctx context.Context) error {
	notes, ours, err := x.notes()
	if err != nil {
		return err
	}
	x.tree, x.before = &run.Tree{}, &run.Tree{}
	own := x.reducer.Count() - x.inherited()
	due := map[int64][]tlog.Hash{}
	for _, c := range notes {
		if c.RunID != x.RunID {
			return fault.New(fault.EventChainBroken, "a checkpoint in the folder of run %s is of run %s", x.RunID, c.RunID).
				WithHint("nothing was written; restore the folder from a copy")
		}
		if c.Size > own {
			return cutShort(x.RunID, own, c.Size)
		}
		due[c.Size] = append(due[c.Size], c.Root)
	}
	if ours && len(notes) > 0 {
		last := notes[len(notes)-1]
		if edge, ok := x.edge(); ok && edge.Size() == last.Size-1 {
			x.tree = edge
			if err := x.climb(ctx, due); !fault.Is(err, fault.EventChainBroken) {
				return err
			}
			x.tree = &run.Tree{} // what was kept may be what is wrong: the log decides
		}
	}
	return x.climb(ctx, due)
}

// climb adds the lines after the tree, and compares it at each checkpoint on the way.
func (x *Session) climb(ctx context.Context, due map[int64][]tlog.Hash) error {
	for e, err := range x.log.Events(ctx, x.tree.Size()) {
		if err != nil {
			return err
		}
		x.grow(e.Raw)
		for _, root := range due[x.tree.Size()] {
			if root != x.tree.Root() {
				return run.ChainBroken(runPlace(x.RunID), e.Line, e.Offset, "the lines up to here are not those that were signed")
			}
		}
	}
	return nil
}

// grow adds a line to the tree.
func (x *Session) grow(line []byte) {
	x.before.Set(x.tree)
	x.tree.Add(line)
}

// edge is the tree that the last writer kept, if it can be read.
func (x *Session) edge() (*run.Tree, bool) {
	text, err := os.ReadFile(x.file(edgeFile))
	if err != nil {
		return nil, false
	}
	edge, err := run.ParseEdge(string(text))
	return edge, err == nil
}

// notes returns the checkpoints in the folder, and whether all are signed with our key. Those
// of others cannot be checked, but their claims must be true all the same.
func (r *Reader) notes() (out []run.Checkpoint, ours bool, err error) {
	ours = true
	out, err = r.readNotes(func(note, verifier string) (run.Checkpoint, error) {
		c, err := OpenCheckpoint([]byte(note), verifier)
		if isForeignKey(err) {
			ours = false
			return readUnsigned(note)
		}
		return c, err
	})
	return out, ours, err
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

// isForeignKey reports whether a note is signed with another key.
func isForeignKey(err error) bool {
	_, is := errors.AsType[*seal.OtherKeyError](err)
	return is
}

// readUnsigned reads a note whose signature cannot be checked here.
func readUnsigned(note string) (run.Checkpoint, error) {
	text, _, _ := strings.Cut(note, "\n\n")
	return run.ParseCheckpoint(text + "\n")
}

package rundir

import (
	"context"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Inclusion proves that the log under a checkpoint contains a line. Checking it takes only that checkpoint:
// the hashes are those of RFC 6962, as in Go's checksum database (tlog.CheckRecord).
type Inclusion struct {
	RunID string      `json:"run_id"`
	Line  string      `json:"line"`
	Index int64       `json:"index"` // of the line, from 0
	Size  int64       `json:"size"`  // of the tree
	Root  tlog.Hash   `json:"root"`
	Proof []tlog.Hash `json:"proof"`
}

// Consistency proves that the log under one checkpoint is the beginning of the
// log under another (tlog.CheckTree).
type Consistency struct {
	RunID   string      `json:"run_id"`
	OldSize int64       `json:"old_size"`
	OldRoot tlog.Hash   `json:"old_root"`
	Size    int64       `json:"size"`
	Root    tlog.Hash   `json:"root"`
	Proof   []tlog.Hash `json:"proof"`
}

// grow reads this run's own lines into a tree, and hands each to see.
func (r *Reader) grow(ctx context.Context, see func(n int64, e run.Entry)) (*run.Tree, error) {
	tree := &run.Tree{}
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return nil, err
		}
		see(tree.Size(), e)
		tree.Add(e.Raw)
	}
	return tree, nil
}

// ProveInclusion proves that an event, named by id or by its number in this run's
// own log, is in it.
func (r *Reader) ProveInclusion(ctx context.Context, event string) (Inclusion, error) {
	p := Inclusion{RunID: r.RunID, Index: -1}
	number, _ := strconv.ParseInt(event, 10, 64)
	f, err := r.grow(ctx, func(n int64, e run.Entry) {
		if e.ID == event || n+1 == number {
			p.Index, p.Line = n, string(e.Raw)
		}
	})
	if err != nil {
		return p, err
	}
	if p.Index < 0 {
		return p, fault.New(fault.NotFound, "run %s has no event %.60q of its own", r.RunID, event).
			WithHint("give an event_id or a number")
	}
	p.Size, p.Root = f.Size(), f.Root()
	p.Proof, err = tlog.ProveRecord(p.Size, p.Index, f)
	return p, err
}

// ProveConsistency proves that the log only grew since a checkpoint. A log that
// did not is EVENT_CHAIN_BROKEN.
func (r *Reader) ProveConsistency(ctx context.Context, old run.Checkpoint) (Consistency, error) {
	p := Consistency{RunID: r.RunID, OldSize: old.Size, OldRoot: old.Root}
	f, err := r.grow(ctx, func(int64, run.Entry) {})
	if err != nil {
		return p, err
	}
	p.Size, p.Root = f.Size(), f.Root()
	if old.Size > p.Size {
		return p, cutShort(r.RunID, p.Size, old.Size)
	}
	if p.Proof, err = tlog.ProveTree(p.Size, old.Size, f); err != nil {
		return p, err
	}
	if err := tlog.CheckTree(p.Proof, p.Size, p.Root, old.Size, old.Root); err != nil {
		return p, fault.New(fault.EventChainBroken, "run %s is not what the checkpoint over %d lines signed: %w", r.RunID, old.Size, err).
			WithHint("the log was rewritten; compare with a copy kept elsewhere")
	}
	return p, nil
}

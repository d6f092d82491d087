package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/turn/loop"
)

// workdir is the folder of an item.
type workdir struct {
	pool *WorkerPool
	dir  string        // its folder; empty: it has none
	work string        // the worktree, or an empty folder; empty: it has none
	tree *itemWorktree // nil: no worktree
	// agent is in whose name a command runs.
	agent id.Agent
}

// place makes the folder of an item, if it needs one.
func (c *WorkerPool) makeWorkdir(ctx context.Context, it Attempt, d Orchestrator, needed bool) (p *workdir, err error) {
	p = &workdir{pool: c}
	if !needed {
		return p, nil
	}
	c.mu.Lock()
	c.folder++
	p.dir = filepath.Join(c.home, "items", strconv.Itoa(c.folder))
	c.mu.Unlock()
	p.work = filepath.Join(p.dir, "work")
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	if it.Task.Tree == nil {
		return p, durable.Failure("make folder", p.work, os.MkdirAll(p.work, 0o700))
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return p, durable.Failure("make folder", p.dir, err)
	}
	p.tree, err = c.makeWorktree(ctx, it, d, p.work)
	return p, err
}

// inputs returns the folder of a command's inputs, under their paths: next to its worktree, as
// they are no part of a patch.
func (p *workdir) inputs() string { return filepath.Join(p.dir, "inputs") }

// supply puts the inputs there, but for those that the worktree was made of.
func (p *workdir) supply(ctx context.Context, it Attempt, d Orchestrator) error {
	for _, in := range it.Inputs {
		if t := it.Task.Tree; t != nil && (in.Path == t.Bundle || slices.Contains(t.Patches, in.Path)) {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(in.Path)) {
			return fault.New(fault.InvalidRecipe, "%.200q is not a path of an input", in.Path)
		}
		data, err := fetchInput(ctx, it, d, in.Path)
		if err != nil {
			return err
		}
		file := filepath.Join(p.inputs(), filepath.FromSlash(in.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return durable.Failure("make folder", filepath.Dir(file), err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return durable.Failure("write", file, err)
		}
	}
	return nil
}

// remove leaves nothing of it.
func (p *workdir) remove() {
	if p.tree != nil {
		p.tree.removeWorktree()
	}
	if err := removeFolder(p.dir); err != nil { // it goes with the host's folder
		p.pool.kernel.Events.Publish(loop.Event{Type: loop.Note, Text: "something of an item is left: " + err.Error()})
	}
}

// fetchInput gets an input by its path, and checks that it is the one.
func fetchInput(ctx context.Context, it Attempt, d Orchestrator, path string) ([]byte, error) {
	sum, err := inputHash(it, path)
	if err != nil {
		return nil, err
	}
	data, err := d.Fetch(ctx, it.ID, sum)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fault.New(fault.Conflict, "input %s of item %s is not the file that was promised", path, it.ID)
	}
	return data, nil
}

// inputHash returns the hash of an input.
func inputHash(it Attempt, path string) (string, error) {
	for _, in := range it.Inputs {
		if in.Path == path {
			return in.SHA256, nil
		}
	}
	return "", fault.New(fault.InvalidRecipe, "worker %s begins with %s, which is none of its inputs", it.Worker, path).
		WithHint("name it under inputs")
}

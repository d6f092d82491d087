package runner

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

// itemWorktree is the worktree of an item.
type itemWorktree struct {
	clone *clone
	git.Tree
}

// makeWorktree makes a worktree: the commit of the bundle, and the patches on top of it. Files in
// which a patch does not fit stay as they are, as they do for the one writer.
func (c *WorkerPool) makeWorktree(ctx context.Context, it Attempt, d Orchestrator, dir string) (t *itemWorktree, err error) {
	from := it.Task.Tree
	if err := git.CheckCommit(from.Commit); err != nil {
		return nil, err
	}
	sum, err := inputHash(it, from.Bundle)
	if err != nil {
		return nil, err
	}
	bundle := func() ([]byte, error) { return fetchInput(ctx, it, d, from.Bundle) }
	made, err := c.clones.take(ctx, sum, from.Commit, bundle)
	if err != nil {
		return nil, err
	}
	t = &itemWorktree{clone: made, Tree: git.Tree{Dir: dir}}
	defer func() {
		if err != nil {
			t.removeWorktree()
			t = nil
		}
	}()
	if err = made.worktree(ctx, "add", "--quiet", "--detach", "--force", "--no-checkout", dir, from.Commit); err != nil {
		return t, err
	}
	// Found out before anybody works here: later nothing in the folder is believed.
	at, err := git.Run(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return t, err
	}
	t.Git = filepath.FromSlash(strings.TrimSpace(at))
	if err = git.Reset(ctx, t.Tree, from.Commit); err != nil {
		return t, err
	}
	for _, path := range from.Patches {
		patch, err := fetchInput(ctx, it, d, path)
		if err != nil {
			return t, err
		}
		if _, err := git.Apply(ctx, t.Tree, patch); fault.Is(err, fault.InvalidText) {
			return t, fault.New(fault.Conflict, "patch %s does not apply to what item %s begins with: %w", path, it.ID, err)
		} else if err != nil {
			return t, err
		}
	}
	if len(from.Patches) == 0 {
		return t, nil
	}
	_, err = git.Commit(ctx, t.Tree, "what it begins with", time.Unix(0, 0))
	return t, err
}

// patch returns the changes since the beginning, new files included and those left out
// that are outputs of their own.
func (t *itemWorktree) patch(ctx context.Context, without []string) ([]byte, error) {
	return git.Diff(ctx, t.Tree, without...)
}

// removeWorktree removes the worktree, also after the context ended.
func (t *itemWorktree) removeWorktree() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A failure leaves a note in the clone, which goes with it.
	t.clone.worktree(ctx, "remove", "--force", "--force", t.Dir)
	t.clone.give()
}

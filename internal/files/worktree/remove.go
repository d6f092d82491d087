package worktree

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
)

// Removed reports the outcome of Remove.
type Removed struct {
	Tree
	BranchDeleted bool
	Trashed       string // what the trash calls its folder; empty: git has all that was in it
}

// Remove removes a worktree and its branch, if that is one of ours. It refuses with
// CONFLICT while the tree has changes that are not committed, or commits that neither
// the folder into has nor a tag or a branch that is not one of ours. With force it moves such
// changes to the trash and keeps a branch with such commits. If the folder of the tree is gone,
// the repository is that of project.
func (k Keeper) Remove(ctx context.Context, project string, t Tree, into string, force bool) (Removed, error) {
	out := Removed{Tree: t}
	r, err := k.openCommon(ctx, project, t)
	if err != nil {
		return out, err
	}
	err = k.alone(ctx, func() error {
		if !force {
			if err := k.spare(ctx, r, t, into); err != nil {
				return err
			}
		}
		only, err := k.keepCommits(ctx, r, t, into)
		if err != nil {
			return err
		}
		if out.Trashed, err = k.drop(ctx, r, t, into, force || only > 0); err != nil {
			return err
		}
		start, err := r.ours(ctx)
		if err != nil || only > 0 || !strings.HasPrefix(t.Branch, start) {
			return err // the agent checked out something that is not ours to delete
		}
		_, err = run(ctx, r.top, "branch", "-D", "--quiet", "--", t.Branch)
		out.BranchDeleted = err == nil
		return err
	})
	return out, err
}

// Spare refuses, as Remove does, where removing a worktree would lose something.
func (k Keeper) Spare(ctx context.Context, project string, t Tree, into string) error {
	r, err := k.openCommon(ctx, project, t)
	if err != nil {
		return err
	}
	return k.spare(ctx, r, t, into)
}

// openCommon opens the repository of a tree, as seen from what stays when the tree goes.
func (k Keeper) openCommon(ctx context.Context, project string, t Tree) (repo, error) {
	if !t.Gone {
		project = t.Dir
	}
	r, err := k.open(ctx, project)
	r.top = r.common
	return r, err
}

// spare refuses where something would be lost.
func (k Keeper) spare(ctx context.Context, r repo, t Tree, into string) error {
	const hint = "`ramet merge %s` merges it; --force moves its files to the trash and keeps its branch"
	if !t.Gone {
		from, err := k.open(ctx, t.Dir)
		if err != nil {
			return err
		}
		if dirty, err := from.dirty(ctx); err != nil {
			return err
		} else if dirty {
			return fault.New(fault.Conflict, "%s has changes that are not committed", t.Dir).WithHint(hint, t.Child)
		}
		if t.Head, err = from.head(ctx); err != nil {
			return err
		}
	}
	n, err := unmerged(ctx, r, t, into)
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.New(fault.Conflict, "%s has commits that are merged nowhere: %d", t.Dir, n).WithHint(hint, t.Child)
	}
	return nil
}

// unmerged counts the commits of a tree that are only on its own branch.
func unmerged(ctx context.Context, r repo, t Tree, into string) (int, error) {
	// The folder where the work belongs has it as well, and what people named.
	args := []string{t.Head, "--not", "--exclude=" + prefix + "*"}
	if t.Branch != "" {
		args = append(args, "--exclude="+t.Branch)
	}
	args = append(args, "--branches", "--remotes", "--tags")
	if to, err := open(ctx, into); err == nil && to.common == r.common {
		here, err := to.head(ctx)
		if err != nil {
			return 0, err
		}
		args = append(args, here)
	}
	return count(ctx, r, args...)
}

// keepCommits counts the commits that are merged nowhere, and gives them a branch if they have
// none.
func (k Keeper) keepCommits(ctx context.Context, r repo, t Tree, into string) (int, error) {
	if !t.Gone {
		var err error
		if t.Head, err = (repo{top: t.Dir}).head(ctx); err != nil {
			return 0, err
		}
	}
	only, err := unmerged(ctx, r, t, into)
	if err != nil || only == 0 || t.Branch != "" {
		return only, err
	}
	branch, err := r.free(ctx, "", t.Child)
	if err == nil {
		_, err = run(ctx, r.top, "branch", "--no-track", "--", branch, t.Head)
	}
	return only, err
}

// drop removes the folder, if it is there, and what git knows of it. It returns what the trash
// calls the folder, if that was moved there.
func (k Keeper) drop(ctx context.Context, r repo, t Tree, into string, force bool) (trashed string, err error) {
	more, err := k.HoldsMore(ctx, t, into)
	if err != nil {
		return "", err
	}
	args := []string{"worktree", "remove"}
	switch {
	case more:
		if trashed, err = k.moveToTrash(ctx, r, t); err != nil {
			return "", err
		}
		args = append(args, "--force", "--force")
	case force:
		args = append(args, "--force", "--force") // once for changes, once for a lock
	default:
		if from, err := open(ctx, t.Dir); err == nil {
			if brought, err := from.brought(); err == nil && len(brought) > 0 {
				args = append(args, "--force") // what is not committed is the parent's: spare looked
			}
		}
	}
	_, err = run(ctx, r.top, append(args, t.Dir)...)
	return trashed, err
}

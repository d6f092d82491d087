package worktree

import (
	"context"
	"strings"

	"ramet/internal/fault"
)

// Removed is what Remove did.
type Removed struct {
	Tree
	BranchDeleted bool
}

// Remove removes a worktree and its branch, if that is one of ours. It refuses with
// CONFLICT while the tree has changes that are not committed, or commits that neither
// the folder into has nor a tag or a branch that is not one of ours; with force it
// does not look. Where the folder of the tree is gone, the repository is that of
// project.
func (k Keeper) Remove(ctx context.Context, project string, t Tree, into string, force bool) (Removed, error) {
	out := Removed{Tree: t}
	at := t.Dir
	if t.Gone {
		at = project
	}
	r, err := k.open(ctx, at)
	if err != nil {
		return out, err
	}
	r.top = r.common // which stays
	err = k.alone(ctx, func() error {
		if !force {
			if err := k.spare(ctx, r, t, into); err != nil {
				return err
			}
		}
		if err := r.drop(ctx, t, force); err != nil {
			return err
		}
		start, err := r.ours(ctx)
		if err != nil || !strings.HasPrefix(t.Branch, start) {
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
	at := t.Dir
	if t.Gone {
		at = project
	}
	r, err := k.open(ctx, at)
	if err != nil {
		return err
	}
	r.top = r.common
	return k.spare(ctx, r, t, into)
}

// spare refuses where something would be lost.
func (k Keeper) spare(ctx context.Context, r repo, t Tree, into string) error {
	const hint = "`ramet merge %s` brings it back; --force throws it away"
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
	// What holds the work as well: the folder where it belongs, and what people named.
	args := []string{t.Head, "--not", "--exclude=" + prefix + "*"}
	if t.Branch != "" {
		args = append(args, "--exclude="+t.Branch)
	}
	args = append(args, "--branches", "--remotes", "--tags")
	if to, err := open(ctx, into); err == nil && to.common == r.common {
		here, err := to.head(ctx)
		if err != nil {
			return err
		}
		args = append(args, here)
	}
	n, err := count(ctx, r, args...)
	if err != nil {
		return err
	}
	if n > 0 {
		return fault.New(fault.Conflict, "%s has commits that are merged nowhere: %d", t.Dir, n).WithHint(hint, t.Child)
	}
	return nil
}

// drop removes the folder, if it is there, and what git knows of it.
func (r repo) drop(ctx context.Context, t Tree, force bool) error {
	args := []string{"worktree", "remove"}
	if force {
		args = append(args, "--force", "--force") // once for changes, once for a lock
	} else if from, err := open(ctx, t.Dir); err == nil {
		if brought, err := from.brought(); err == nil && len(brought) > 0 {
			args = append(args, "--force") // what is not committed is the parent's: spare looked
		}
	}
	_, err := run(ctx, r.top, append(args, t.Dir)...)
	return err
}

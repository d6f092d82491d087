package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/files"
	"ramet/internal/files/git"
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

// trash returns where files go that git does not have.
func (k Keeper) trash() files.Trash {
	if k.Trash.Dir != "" {
		return k.Trash
	}
	return files.Trash{Dir: filepath.Join(k.Dir, "trash")}
}

// HoldsMore reports whether a tree holds something that neither git nor the folder into has:
// ignored or untracked files, changes that are not committed, or submodules.
func (k Keeper) HoldsMore(ctx context.Context, t Tree, into string) (bool, error) {
	if t.Gone {
		return false, nil
	}
	r, err := k.open(ctx, t.Dir)
	if err != nil {
		return false, err
	}
	index, err := run(ctx, r.top, "ls-files", "-v", "-s", "-z")
	if err != nil {
		return false, err
	}
	for _, entry := range git.Fields(index) {
		// git does not look at the content of files that are not "H", nor into submodules
		if !strings.HasPrefix(entry, "H ") || strings.HasPrefix(entry, "H 160000 ") {
			return true, nil
		}
	}
	others, err := run(ctx, r.top, "ls-files", "--others", "-z")
	if err != nil {
		return false, err
	}
	changed, err := r.status(ctx, "no")
	if err != nil {
		return false, err
	}
	brought, err := r.brought()
	if err != nil {
		return false, err
	}
	home, err := open(ctx, into)
	return slices.ContainsFunc(append(git.Fields(others), changed...), func(at string) bool {
		at = filepath.FromSlash(at)
		came, ok := brought[filepath.ToSlash(at)]
		return !ok || err != nil || came != sumOf(filepath.Join(r.top, at)) || came != sumOf(filepath.Join(home.top, at))
	}), nil
}

// moveToTrash moves the folder of a tree to the trash, and returns what the trash calls it.
func (k Keeper) moveToTrash(ctx context.Context, r repo, t Tree) (string, error) {
	head, err := repo{top: t.Dir}.head(ctx)
	if err != nil {
		return "", err
	}
	size, _ := files.FolderSize(t.Dir, "")
	item := files.TrashItem{Path: ".", Kind: files.Dir, Size: size, Tree: &files.TrashTree{Repository: r.common, Branch: t.Branch, Commit: head}}
	act, err := k.trash().Begin("worktree", files.TrashAct{Agent: t.Child, Root: t.Dir, Items: []files.TrashItem{item}})
	if err != nil {
		return "", err
	}
	above, err := step.OpenRoot(filepath.Dir(t.Dir))
	if err != nil {
		return "", durable.Failure("open", filepath.Dir(t.Dir), err)
	}
	defer above.Close()
	if err := act.Move(above, filepath.Base(t.Dir), 1); err != nil {
		return "", durable.Failure("move to the trash", t.Dir, err)
	}
	return act.Entry(1).Name(), nil
}

// Return makes a worktree of a folder in the trash again, at its old path or another one, on its
// branch if that is free. CONFLICT if something is there.
func (k Keeper) Return(ctx context.Context, e files.TrashEntry, to string) (string, error) {
	if to == "" {
		to = e.Original()
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return to, err
	}
	if _, err := os.Lstat(to); err == nil {
		return to, fault.New(fault.Conflict, "there is something at %s", to).WithHint("nothing was touched; choose another path with --to")
	}
	top := e.Tree.Repository
	err = k.alone(ctx, func() error {
		add := func(args ...string) error {
			_, err := run(ctx, top, append([]string{"worktree", "add", "--quiet", "--force", "--no-checkout"}, args...)...)
			return err
		}
		err := errors.New("it had no branch")
		if e.Tree.Branch != "" {
			if err = add(to, e.Tree.Branch); err != nil {
				err = add("--no-track", "-b", e.Tree.Branch, to, e.Tree.Commit)
			}
		}
		if err != nil {
			err = add("--detach", to, e.Tree.Commit)
		}
		if err != nil {
			return err
		}
		link, err := os.ReadFile(filepath.Join(to, ".git"))
		if err == nil {
			err = os.RemoveAll(to) // it holds that one file
		}
		if err == nil {
			_, err = k.trash().Restore(e, to)
		}
		if err == nil {
			err = durable.WriteFile(filepath.Join(to, ".git"), link, 0o644)
		}
		if err == nil {
			_, err = run(ctx, to, "read-tree", "HEAD")
		}
		return err
	})
	return to, err
}

// makeWay moves ignored files to the trash that a merge of a commit would silently overwrite.
func (k Keeper) makeWay(ctx context.Context, to repo, here, there string) ([]files.TrashEntry, error) {
	added, err := run(ctx, to.top, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--diff-filter=A", here, there)
	if err != nil {
		return nil, err
	}
	var occupied []string
	for _, at := range git.Fields(added) {
		if in := firstOccupied(to.top, at); in != "" && !slices.Contains(occupied, in) {
			occupied = append(occupied, in)
		}
	}
	if len(occupied) == 0 {
		return nil, nil
	}
	c := git.Command{Dir: to.top, User: true, Env: []string{"GIT_LITERAL_PATHSPECS=1"}}
	ignored, err := c.Run(ctx, append([]string{"ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"}, occupied...)...)
	if err != nil {
		return nil, err
	}
	act := files.TrashAct{Root: to.top}
	for _, at := range git.Fields(ignored) {
		at = strings.TrimSuffix(at, "/") // another repository
		info, err := os.Lstat(filepath.Join(to.top, filepath.FromSlash(at)))
		if err != nil {
			continue // it is gone
		}
		kind := map[bool]files.Kind{true: files.Dir, false: files.File}[info.IsDir()]
		act.Items = append(act.Items, files.TrashItem{Path: at, Kind: kind, Size: info.Size()})
	}
	if len(act.Items) == 0 {
		return nil, nil
	}
	if act, err = k.trash().Begin("merge", act); err != nil {
		return nil, err
	}
	return act.MoveAll()
}

// firstOccupied returns the first part of a path, from the top, that is something else than a
// folder, or the whole path if something is there; empty: nothing is in its way.
func firstOccupied(top, at string) string {
	for i := 0; i <= len(at); i++ {
		if i < len(at) && at[i] != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(at[:i])))
		if err != nil {
			return ""
		}
		if i == len(at) || !info.IsDir() {
			return at[:i]
		}
	}
	return ""
}

// giveBack moves what made way for a merge that failed back. What cannot be moved stays in the
// trash, and is returned.
func (k Keeper) giveBack(moved []files.TrashEntry) (left []files.TrashEntry) {
	for _, e := range moved {
		if _, err := k.trash().Restore(e, ""); err != nil {
			left = append(left, e)
		}
	}
	return left
}

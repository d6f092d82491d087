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

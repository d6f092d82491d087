package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/files/git"
)

// List lists the worktrees that the repository of a folder has here.
func (k Keeper) List(ctx context.Context, project string) ([]Tree, error) {
	r, err := open(ctx, project)
	if err != nil {
		return nil, err
	}
	out, err := run(ctx, r.top, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var trees []Tree
	var t *Tree // the one that is read, if it is ours
	for _, line := range git.Fields(out) {
		key, value, _ := strings.Cut(line, " ")
		if key == "worktree" {
			t = nil
			if child, ok := k.owner(value); ok {
				_, err := os.Stat(value)
				trees = append(trees, Tree{Child: child, Dir: filepath.FromSlash(value), Gone: os.IsNotExist(err)})
				t = &trees[len(trees)-1]
			}
		}
		switch {
		case t == nil:
		case key == "HEAD":
			t.Head = value
		case key == "branch":
			t.Branch = strings.TrimPrefix(value, "refs/heads/")
		}
	}
	return trees, nil
}

// Of finds the worktree that a folder lies in; ok is false where it lies in none.
// Where the folder is gone, the repository of project is asked.
func (k Keeper) Of(ctx context.Context, project, cwd string) (t Tree, ok bool, err error) {
	dir := real(cwd)
	for _, ours := k.owner(dir); !ours; _, ours = k.owner(dir) {
		up := filepath.Dir(dir)
		if up == dir {
			return Tree{}, false, nil
		}
		dir = up
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		project = dir
	}
	trees, err := k.List(ctx, project)
	for _, t := range trees {
		if t.Dir == dir {
			return t, true, nil
		}
	}
	return Tree{}, false, err
}

// owner returns whose worktree would lie at a path.
func (k Keeper) owner(path string) (id.Agent, bool) {
	path = filepath.FromSlash(path)
	if dir := filepath.Dir(path); dir != real(k.Dir) && dir != k.Dir {
		return "", false
	}
	child, err := id.ParseAgent(filepath.Base(path))
	return child, err == nil
}

// State describes how a worktree stands to the folder that it would be merged into.
type State struct {
	Dirty bool // something in it is not committed
	Ahead int  // commits that the other has not
}

// State compares.
func (k Keeper) State(ctx context.Context, t Tree, into string) (State, error) {
	from, to, err := k.both(ctx, t, into)
	if err != nil {
		return State{}, err
	}
	return compare(ctx, from, to)
}

// both opens the two sides of a merge.
func (k Keeper) both(ctx context.Context, t Tree, into string) (from, to repo, err error) {
	if t.Gone {
		return from, to, fault.New(fault.NotFound, "no folder %s", t.Dir).
			WithHint("it was moved or removed; what was committed is on the branch %s", t.Branch)
	}
	if from, err = k.open(ctx, t.Dir); err != nil {
		return from, to, err
	}
	if to, err = k.open(ctx, into); err != nil {
		return from, to, err
	}
	if from.common != to.common {
		err = fault.New(fault.Conflict, "%s and %s belong to different repositories", from.top, to.top).
			WithHint("name a folder of the same one")
	}
	return from, to, err
}

func compare(ctx context.Context, from, to repo) (s State, err error) {
	if s.Dirty, err = from.dirty(ctx); err != nil {
		return s, err
	}
	there, err := from.head(ctx)
	if err != nil {
		return s, err
	}
	here, err := to.head(ctx)
	if err != nil {
		return s, err
	}
	s.Ahead, err = count(ctx, from, there, "^"+here)
	return s, err
}

// count counts commits.
func count(ctx context.Context, r repo, args ...string) (int, error) {
	out, err := run(ctx, r.top, append([]string{"rev-list", "--count"}, args...)...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fault.New(fault.Failed, "git rev-list: not understood: %.100q", out)
	}
	return n, nil
}

package worktree

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/files"
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

// checkout puts the files of its commit into a tree that has none yet: those that are as committed
// in the parent's folder share their blocks with it. Git itself holds them against the commit
// then, and writes whatever is missing or was changed meanwhile.
func (k Keeper) checkout(ctx context.Context, r repo, t Tree) error {
	if err := k.share(ctx, r, t); err != nil {
		return err
	}
	if _, err := run(ctx, t.Dir, "read-tree", "HEAD"); err != nil {
		return err
	}
	_, err := run(ctx, t.Dir, "update-index", "-q", "--refresh")
	if f := (*git.Failed)(nil); err != nil && !(errors.As(err, &f) && f.Exit == 1) { // 1: some are not as committed
		return err
	}
	_, err = run(ctx, t.Dir, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	return err
}

// share clones what is as committed in the parent's folder.
func (k Keeper) share(ctx context.Context, r repo, t Tree) error {
	from, err := os.OpenRoot(r.top)
	if err != nil {
		return durable.Failure("open", r.top, err)
	}
	defer from.Close()
	to, err := os.OpenRoot(t.Dir)
	if err != nil {
		return durable.Failure("open", t.Dir, err)
	}
	defer to.Close()
	committed, err := r.asCommitted(ctx, t.Head)
	if err != nil {
		return err
	}
	for _, f := range committed {
		if ctx.Err() != nil || errors.Is(k.cloneOne(from, to, f), files.ErrCannotClone) {
			break // what is not cloned, git writes
		}
	}
	return nil
}

// shares reports whether clones can be made of the parent's files, by trying one.
func (k Keeper) shares(r repo) bool {
	head, err := os.Open(filepath.Join(r.git, "HEAD"))
	if err != nil {
		return false
	}
	defer head.Close()
	to, err := step.OpenRoot(k.Dir)
	if err != nil {
		return false
	}
	defer to.Close()
	const probe = ".probe" // nothing else makes worktrees here now
	to.Remove(probe)
	defer to.Remove(probe)
	return k.clone(to.Root, probe, 0o600, head) == nil
}

// tracked is a file of a commit.
type tracked struct {
	path string
	perm os.FileMode
}

// asCommitted returns the files of a commit that are the same in the folder, as far as git knows.
func (r repo) asCommitted(ctx context.Context, commit string) ([]tracked, error) {
	differ, err := run(ctx, r.top, "diff-index", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", commit, "--")
	if err != nil {
		return nil, err
	}
	other := map[string]bool{}
	for _, name := range git.Fields(differ) {
		other[name] = true
	}
	list, err := run(ctx, r.top, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var out []tracked
	for _, entry := range git.Fields(list) {
		head, name, _ := strings.Cut(entry, "\t")
		perm, plain := map[string]os.FileMode{"100644": 0o666, "100755": 0o777}[strings.Fields(head)[0]]
		if plain && !other[name] {
			out = append(out, tracked{name, perm})
		}
	}
	return out, nil
}

// errNoFile is something else where a file should be.
var errNoFile = errors.New("no file")

// cloneOne clones one file.
func (k Keeper) cloneOne(from, to *os.Root, f tracked) error {
	info, err := from.Lstat(f.path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for
		return errNoFile
	}
	src, err := from.Open(f.path)
	if err != nil {
		return err
	}
	defer src.Close()
	if dir := path.Dir(f.path); dir != "." {
		if err := step.In(to).MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	return k.clone(to, f.path, f.perm, src)
}

func (k Keeper) clone(dir *os.Root, name string, perm os.FileMode, src *os.File) error {
	if k.Clone != nil {
		return k.Clone(dir, name, perm, src)
	}
	return files.CloneFile(dir, name, perm, src)
}

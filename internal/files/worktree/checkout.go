package worktree

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/step"
	"ramet/internal/files"
	"ramet/internal/files/git"
)

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

package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/files/git"
)

// broughtFile, in what git keeps of a worktree, tells which files came from the parent without
// being committed there: while they are as they came, they are the parent's work and not the
// child's.
const broughtFile = "ramet-brought"

// gone names what stands for a file that the parent had removed.
const gone = "-"

// NoteBrought notes what was brought into a tree: paths in the folder where the child works.
func (k Keeper) NoteBrought(ctx context.Context, t Tree, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	r, err := open(ctx, t.Cwd)
	if err != nil {
		return err
	}
	brought := map[string]string{}
	for _, p := range paths {
		at := path.Join(r.prefix, p)
		brought[at] = sumOf(filepath.Join(r.top, filepath.FromSlash(at)))
	}
	text, err := json.Marshal(brought)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(r.git, broughtFile), text, 0o600); err != nil {
		return err
	}
	return r.keepBrought(ctx, slices.Sorted(maps.Keys(brought)))
}

// broughtRef, which belongs to the worktree alone and goes with it, is a commit of what the child
// began with: behind its first one, but with what was brought. It is on no branch; what the child
// changed is counted from it.
const broughtRef = "refs/worktree/ramet/brought"

// keepBrought writes that commit. The index of the worktree stays as it is.
func (r repo) keepBrought(ctx context.Context, paths []string) error {
	index := filepath.Join(r.git, "ramet-index")
	defer step.Remove(index)
	c := git.Command{Dir: r.top, User: true, Env: []string{"GIT_INDEX_FILE=" + index}}
	if _, err := c.Run(ctx, "read-tree", "HEAD"); err != nil {
		return err
	}
	add := c
	add.In = []byte(strings.Join(paths, "\x00") + "\x00")
	if _, err := add.Run(ctx, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	tree, err := c.Run(ctx, "write-tree")
	if err != nil {
		return err
	}
	who, err := r.signature(ctx)
	if err != nil {
		return err
	}
	commit, err := c.Run(ctx, append(who, "commit-tree", "--no-gpg-sign", "-p", "HEAD", "-m", "ramet: what was brought", strings.TrimSpace(tree))...)
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, "update-ref", broughtRef, strings.TrimSpace(commit))
	return err
}

// begun returns the commit from which an agent's own changes are counted, where it and the folder that
// it came from parted at base: what was brought, as long as that lies just behind base.
func (r repo) begun(ctx context.Context, base string) string {
	out, err := run(ctx, r.top, "rev-list", "--max-count=1", "--parents", broughtRef)
	if commits := strings.Fields(out); err == nil && len(commits) == 2 && commits[1] == base {
		return commits[0]
	}
	return base
}

// brought reads what was brought into a worktree.
func (r repo) brought() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(r.git, broughtFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.Failure("read", broughtFile, err)
	}
	var out map[string]string
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.New(fault.StorageCorrupt, "read %s: %w", filepath.Join(r.git, broughtFile), err).
			WithHint("remove it: then what came from the parent counts as the child's")
	}
	return out, nil
}

// sumOf returns a hash of what is at a path. Of a pipe or a device, which may have no end, it is the mode alone.
func sumOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return gone
	}
	var content []byte
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return gone
		}
		content = []byte("link " + target)
	case !info.Mode().IsRegular():
		return info.Mode().String()
	default:
		if content, err = os.ReadFile(path); err != nil {
			return gone
		}
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) + " " + info.Mode().String()
}

// changes returns the paths that are not committed; of a new folder each file, if all is set or
// something was brought. Ignored files do not count, nor what is inside of submodules (git would
// have to run there), nor what is as it came from the parent.
func (r repo) changes(ctx context.Context, all bool) ([]string, error) {
	brought, err := r.brought()
	if err != nil {
		return nil, err
	}
	untracked := "normal"
	if all || len(brought) > 0 {
		untracked = "all"
	}
	paths, err := r.status(ctx, untracked)
	return slices.DeleteFunc(paths, func(at string) bool {
		sum, ok := brought[at]
		return ok && sum == sumOf(filepath.Join(r.top, filepath.FromSlash(at)))
	}), err
}

// status returns the paths of which git says that they are not committed.
func (r repo) status(ctx context.Context, untracked string) ([]string, error) {
	out, err := run(ctx, r.top, "status", "--porcelain", "-z", "--no-renames", "--untracked-files="+untracked, "--ignore-submodules=dirty")
	var paths []string
	for _, entry := range git.Fields(out) {
		if len(entry) > 3 {
			paths = append(paths, entry[3:])
		}
	}
	return paths, err
}

// stage puts what is not committed into the index, but for what is as it came from the
// parent.
func (r repo) stage(ctx context.Context) error {
	brought, err := r.brought()
	if err != nil {
		return err
	}
	if len(brought) == 0 {
		_, err := run(ctx, r.top, "add", "--all")
		return err
	}
	paths, err := r.changes(ctx, false)
	if err != nil || len(paths) == 0 {
		return err
	}
	c := git.Command{Dir: r.top, User: true, In: []byte(strings.Join(paths, "\x00") + "\x00"), Env: []string{"GIT_LITERAL_PATHSPECS=1"}}
	_, err = c.Run(ctx, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

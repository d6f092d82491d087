package git

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Diff returns what was changed in the tree since its commit, with new and deleted files, as
// a patch that Apply takes. The files without, what the repository ignores and what is in
// submodules is not in it. Empty: nothing was changed. OUTPUT_INVALID: there is another
// repository in the folder, which no patch can hold.
func Diff(ctx context.Context, t Tree, without ...string) ([]byte, error) {
	var out string
	err := t.staged(ctx, without, func(c Command) (err error) {
		out, err = c.Run(ctx, append([]string{"diff", "--cached"}, append(plain, "HEAD")...)...)
		return err
	})
	return []byte(out), err
}

// plain makes patches that depend on nothing but the files.
var plain = []string{"--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-indent-heuristic",
	"--diff-algorithm=myers", "--unified=3", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all"}

// Changed lists the files that differ from a commit, sorted.
func Changed(ctx context.Context, t Tree, base string) ([]string, error) {
	if err := CheckCommit(base); err != nil {
		return nil, err
	}
	var out string
	err := t.staged(ctx, nil, func(c Command) (err error) {
		out, err = c.Run(ctx, "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", base)
		return err
	})
	return Fields(out), err
}

// Commit writes down everything that is not ignored, in the name of ramet, and stands on
// the new commit. Where nothing was changed it is the commit that there is.
func Commit(ctx context.Context, t Tree, message string, date time.Time) (string, error) {
	head, err := Head(ctx, t)
	if err != nil {
		return "", err
	}
	c, err := t.command()
	if err != nil {
		return "", err
	}
	if err := t.stage(ctx, c, nil); err != nil {
		return "", err
	}
	now, err := treeOf(ctx, c)
	if err != nil {
		return "", err
	}
	before, err := t.Run(ctx, "rev-parse", "--verify", head+"^{tree}")
	if err != nil || strings.TrimSpace(before) == now {
		return head, err
	}
	commit, err := write(ctx, t, now, message, date, head)
	if err != nil {
		return "", err
	}
	_, err = t.Run(ctx, "update-ref", "--no-deref", "HEAD", commit)
	return commit, err
}

func treeOf(ctx context.Context, c Command) (string, error) {
	out, err := c.Run(ctx, "write-tree")
	return strings.TrimSpace(out), err
}

// staged gives a git with an index of its own that holds what is in the folder.
func (t Tree) staged(ctx context.Context, without []string, do func(Command) error) error {
	return t.aside(ctx, "HEAD", func(c Command) error {
		if err := t.stage(ctx, c, without); err != nil {
			return err
		}
		return do(c)
	})
}

// aside gives a git with an index of its own that holds a tree.
func (t Tree) aside(ctx context.Context, tree string, do func(Command) error) error {
	c, err := t.command()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.git(), "aside-")
	if err != nil {
		return durable.Failure("make a folder in", t.git(), err)
	}
	defer os.RemoveAll(dir)
	index, err := filepath.Abs(filepath.Join(dir, "index"))
	if err != nil {
		return durable.Failure("find", dir, err)
	}
	c.Env = append(c.Env, "GIT_INDEX_FILE="+index)
	if _, err := c.Run(ctx, "read-tree", tree); err != nil {
		return err
	}
	return do(c)
}

// stage puts what is in the folder into the index. It is not `git add`, which would run
// git inside of submodules, with the configuration found there.
func (t Tree) stage(ctx context.Context, c Command, without []string) error {
	known, err := c.Run(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	others, err := c.Run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var gone, there strings.Builder
	for _, entry := range Fields(known) {
		mode, path, ok := strings.Cut(entry, "\t")
		switch {
		case !ok || strings.HasPrefix(mode, "160000 ") || slices.Contains(without, path): // a submodule stays what it is
		case t.holds(path):
			there.WriteString(path + "\x00")
		default:
			gone.WriteString(path + "\x00")
		}
	}
	for _, path := range Fields(others) {
		if strings.HasSuffix(path, "/") {
			return fault.New(fault.OutputInvalid, "the worktree contains a git repository at %s, which can't be part of a patch", path).
				WithHint("leave no .git folder behind")
		}
		if !slices.Contains(without, path) && t.holds(path) {
			there.WriteString(path + "\x00")
		}
	}
	c.In = []byte(gone.String())
	if _, err := c.Run(ctx, "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return err
	}
	c.In = []byte(there.String())
	_, err = c.Run(ctx, "update-index", "-z", "--add", "--replace", "--stdin")
	return err
}

// holds reports whether there is a file or a link at a path, and no link on the way to it.
func (t Tree) holds(path string) bool {
	at := t.Dir
	parts := strings.Split(path, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		last := i == len(parts)-1
		if err != nil || !last && !info.IsDir() || last && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			return false
		}
	}
	return true
}

// ChangedBetween lists the files that differ between two commits, sorted.
func ChangedBetween(ctx context.Context, t Tree, from, to string) ([]string, error) {
	out, err := t.Run(ctx, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", from, to)
	return Fields(out), err
}

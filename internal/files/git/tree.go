package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Tree is a folder of files and the repository that it is compared with. Where a process
// else writes into the folder, the repository lies elsewhere, so that they cannot tell
// git what to do.
type Tree struct {
	Dir string // the files
	Git string // the repository; empty: .git in Dir
}

func (t Tree) git() string {
	if t.Git != "" {
		return t.Git
	}
	return filepath.Join(t.Dir, ".git")
}

// command is git in the tree. Everything is named, so that git looks for nothing.
func (t Tree) command() (Command, error) {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.Dir, err)
	}
	repo, err := filepath.Abs(t.git())
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.git(), err)
	}
	return Command{Dir: dir, Env: []string{"GIT_DIR=" + repo, "GIT_WORK_TREE=" + dir}}, nil
}

// Run runs git in the tree.
func (t Tree) Run(ctx context.Context, args ...string) (string, error) {
	c, err := t.command()
	if err != nil {
		return "", err
	}
	return c.Run(ctx, args...)
}

// attributes switches off what .gitattributes of a repository can ask for: other bytes,
// programs, and another way to merge.
const attributes = "* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !conflict-marker-size !whitespace\n"

// make makes an empty repository. ids have the length of commit. Without links they are
// plain files that hold their target, so that nothing is read or written through them.
func (t Tree) make(ctx context.Context, commit string, links bool) error {
	for _, dir := range []string{t.Dir, t.git()} {
		if err := durable.MakeFolder(dir, 0o700); err != nil {
			return err
		}
	}
	if _, err := Run(ctx, t.git(), "init", "--quiet", "--bare", "--template=", "--initial-branch=base", "--object-format="+format(commit), "."); err != nil {
		return err
	}
	settings := [][2]string{{"core.bare", "false"}, {"core.autocrlf", "false"}, {"core.protectHFS", "true"}, {"core.protectNTFS", "true"},
		{"core.logAllRefUpdates", "false"}}
	if !links {
		settings = append(settings, [2]string{"core.symlinks", "false"})
	}
	for _, pair := range settings {
		if _, err := t.Run(ctx, "config", pair[0], pair[1]); err != nil {
			return err
		}
	}
	info := filepath.Join(t.git(), "info")
	if err := durable.MakeFolder(info, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o600); err != nil {
		return durable.Failure("write", filepath.Join(info, "attributes"), err)
	}
	return nil
}

// format returns how objects are named in the repository of a commit.
func format(commit string) string {
	if len(commit) == 64 {
		return "sha256"
	}
	return "sha1"
}

// Head returns the commit that the tree stands on.
func Head(ctx context.Context, t Tree) (string, error) {
	out, err := t.Run(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// Has reports whether a commit is in the repository.
func Has(ctx context.Context, t Tree, commit string) bool {
	_, err := t.Run(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// Behind reports whether a commit is in the history of another, or is that one.
func Behind(ctx context.Context, t Tree, commit, other string) bool {
	_, err := t.Run(ctx, "merge-base", "--is-ancestor", commit, other)
	return err == nil
}

// Reset makes the tree what a commit holds: changed files are as they were, others are
// gone. It also undoes what an interrupted command left.
func Reset(ctx context.Context, t Tree, commit string) error {
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if err := durable.MakeFolder(t.Dir, 0o700); err != nil {
		return err
	}
	// The index is a cache: without it, a lock that a killed git left is of no matter.
	for _, name := range []string{"index.lock", "HEAD.lock", "index"} {
		if err := os.Remove(filepath.Join(t.git(), name)); err != nil && !os.IsNotExist(err) {
			return durable.Failure("remove", name, err)
		}
	}
	if _, err := t.Run(ctx, "update-ref", "--no-deref", "HEAD", commit); err != nil {
		return err
	}
	if _, err := t.Run(ctx, "read-tree", "--reset", "-u", commit); err != nil {
		return err
	}
	_, err := t.Run(ctx, "clean", "-ffdxq")
	return err
}

// CheckCommit refuses what is no full id of a commit: INVALID_ID.
func CheckCommit(commit string) error {
	if (len(commit) == 40 || len(commit) == 64) && strings.Trim(commit, "0123456789abcdef") == "" {
		return nil
	}
	return fault.New(fault.InvalidID, "%.80q is not a full commit id", commit).WithHint("give all 40 characters of it: `git rev-parse NAME`")
}

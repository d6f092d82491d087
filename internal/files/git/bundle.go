package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// baseRef is the branch in bundles of one commit.
const baseRef = "refs/heads/base"

// Bundle writes a bundle of one commit without history that holds exactly the tree of a
// commit of the repository. The same tree gives the same commit, which is returned, and
// the same bytes.
func Bundle(ctx context.Context, repo Tree, commit, file string) (base string, err error) {
	if err := CheckCommit(commit); err != nil {
		return "", err
	}
	if base, err = write(ctx, repo, commit+"^{tree}", "base", time.Unix(0, 0)); err != nil {
		return "", err
	}
	return base, BundleRef(ctx, repo, baseRef, base, "", file)
}

// BundleRef writes a bundle of one reference. Where without names a commit, that one and
// what is behind it is not in the bundle: who takes it needs to have it. The bytes depend
// on the commits alone, not on how the repository keeps them.
func BundleRef(ctx context.Context, repo Tree, ref, commit, without, file string) error {
	c, err := repo.command()
	if err != nil {
		return err
	}
	header := "# v2 git bundle\n"
	if len(commit) == 64 {
		header = "# v3 git bundle\n@object-format=sha256\n"
	}
	if c.In = []byte(commit + "\n"); without != "" {
		header += "-" + without + "\n"
		c.In = []byte(commit + "\n^" + without + "\n")
	}
	header += fmt.Sprintf("%s %s\n\n", commit, ref)

	if err := durable.MakeFolder(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	part := file + ".part"
	f, err := os.Create(part)
	if err != nil {
		return durable.Failure("make", part, err)
	}
	defer os.Remove(part)
	defer f.Close()
	if _, err := f.WriteString(header); err != nil {
		return durable.Failure("write", part, err)
	}
	c.Out = f
	// Nothing that was packed before is used again: how it was packed is not ours.
	if _, err := c.Run(ctx, "-c", "pack.threads=1", "pack-objects", "--quiet", "--revs", "--stdout", "--window=0",
		"--no-reuse-delta", "--no-reuse-object", "--delta-base-offset"); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return durable.Failure("write", part, err)
	}
	if err := f.Close(); err != nil {
		return durable.Failure("write", part, err)
	}
	if err := os.Rename(part, file); err != nil {
		return durable.Failure("rename", part, err)
	}
	return durable.SyncFolder(filepath.Dir(file))
}

// FromBundle makes the tree what the commit of a bundle holds, whatever was there before.
func FromBundle(ctx context.Context, bundle, commit string, t Tree) error {
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if Has(ctx, t, commit) && Reset(ctx, t, commit) == nil {
		return nil
	}
	for _, dir := range []string{t.Dir, t.git()} {
		if err := os.RemoveAll(dir); err != nil {
			return durable.Failure("remove", dir, err)
		}
	}
	if err := durable.MakeFolder(t.Dir, 0o700); err != nil {
		return err
	}
	if err := Unpack(ctx, bundle, commit, t.git()); err != nil {
		return err
	}
	return Reset(ctx, t, commit)
}

// Unpack makes a repository at a path that holds the commit of a bundle and has no files.
// Worktrees of it are Trees. NOT_FOUND: the bundle does not have that commit; CONFLICT: it
// is no bundle.
func Unpack(ctx context.Context, bundle, commit, repo string) error {
	if err := CheckCommit(commit); err != nil {
		return err
	}
	t := Tree{Dir: repo, Git: repo}
	if err := t.make(ctx, commit, false); err != nil {
		return err
	}
	file, err := filepath.Abs(bundle)
	if err != nil {
		return durable.Failure("find", bundle, err)
	}
	if _, err := os.Stat(file); err != nil {
		return durable.Failure("read", file, err)
	}
	out, err := Run(ctx, repo, "bundle", "unbundle", file)
	if failure(err) {
		return err
	} else if err != nil {
		return fault.New(fault.Conflict, "%s is not a bundle that git can read: %w", filepath.Base(bundle), err)
	}
	if !strings.Contains(out, commit) || !Has(ctx, t, commit) {
		return fault.New(fault.NotFound, "the bundle %s has no commit %s", bundle, commit)
	}
	return nil
}

// write makes a commit of a tree in our name.
func write(ctx context.Context, t Tree, tree, message string, date time.Time, parents ...string) (string, error) {
	return writeBy(ctx, t, ours, tree, message, date, parents...)
}

// writeBy makes a commit of a tree in the name of an identity.
func writeBy(ctx context.Context, t Tree, by Identity, tree, message string, date time.Time, parents ...string) (string, error) {
	c, err := t.command()
	if err != nil {
		return "", err
	}
	when := fmt.Sprintf("@%d +0000", date.Unix())
	c.Env = append(c.Env, "GIT_AUTHOR_NAME="+by.Name, "GIT_AUTHOR_EMAIL="+by.Email, "GIT_AUTHOR_DATE="+when,
		"GIT_COMMITTER_NAME="+by.Name, "GIT_COMMITTER_EMAIL="+by.Email, "GIT_COMMITTER_DATE="+when)
	c.In = []byte(strings.TrimRight(message, "\n") + "\n")
	args := []string{"-c", "commit.gpgSign=false", "-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := c.Run(ctx, args...)
	return strings.TrimSpace(out), err
}

package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Cloned is a clone.
type Cloned struct {
	Commit     string   // that it stands on
	Branch     string   // the default branch of where it came from; empty: none, or a commit was named
	Dirty      bool     // a folder with changes that are not committed, and so not here
	Submodules []string // paths; their files are not here
}

// Clone makes a folder that holds a commit of a repository, with its history: the one
// named, else that of the default branch. Links are links; read them with care. The folder is Clone's own: if it stands on that
// commit already, it is put right where files in it were changed; whatever else is there
// is removed. NOT_FOUND: no such repository or commit; CONFLICT: it is empty.
func Clone(ctx context.Context, from Remote, dir, commit string) (Cloned, error) {
	var out Cloned
	if commit != "" {
		if err := CheckCommit(commit); err != nil {
			return out, err
		}
		if keep(ctx, Tree{Dir: dir}, commit) { // no remote need be asked
			var err error
			out.Commit = commit
			out.Submodules, err = submodules(ctx, Tree{Dir: dir}, commit)
			return out, err
		}
	}
	if err := from.exists(); err != nil {
		return out, err
	}
	tame, err := from.inspect(ctx)
	if err != nil {
		return out, err
	}
	if commit == "" {
		if commit, out.Branch, err = RemoteHead(ctx, from); err != nil {
			return out, err
		}
	}
	out.Commit = commit
	if from.Local() {
		out.Dirty = from.dirty(ctx, tame)
	}
	if !keep(ctx, Tree{Dir: dir}, commit) {
		if err := fetch(ctx, from, dir, commit); err != nil {
			return out, err
		}
	}
	out.Submodules, err = submodules(ctx, Tree{Dir: dir}, commit)
	return out, err
}

// keep makes sure that a tree stands on a commit.
func keep(ctx context.Context, t Tree, commit string) bool {
	if info, err := os.Stat(t.git()); err != nil || !info.IsDir() {
		return false
	}
	if head, err := Head(ctx, t); err != nil || head != commit {
		return false
	}
	// Missing objects would be found too late.
	if _, err := t.Run(ctx, "rev-list", "--objects", "--no-walk", "--quiet", commit); err != nil {
		return false
	}
	state, err := t.Run(ctx, "status", "--porcelain", "-z", "--ignored", "--untracked-files=normal", "--ignore-submodules=all")
	return err == nil && state == "" || Reset(ctx, t, commit) == nil
}

// fetch makes a clone beside its place and moves it there.
func fetch(ctx context.Context, from Remote, dir, commit string) error {
	part := Tree{Dir: dir + ".part"}
	for _, d := range []string{part.Dir, dir} {
		if err := os.RemoveAll(d); err != nil {
			return durable.Failure("remove", d, err)
		}
	}
	err := part.make(ctx, commit, true)
	if err == nil {
		err = part.fetch(ctx, from, commit)
	}
	if err == nil {
		err = Reset(ctx, part, commit)
	}
	if err != nil {
		os.RemoveAll(part.Dir) // what is left is removed the next time
		return err
	}
	if err := os.Rename(part.Dir, dir); err != nil {
		return durable.Failure("rename", part.Dir, err)
	}
	return durable.SyncFolder(filepath.Dir(dir))
}

// fetch gets a commit and what is behind it.
func (t Tree) fetch(ctx context.Context, from Remote, commit string) error {
	c, err := t.command()
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-gc", "--no-show-forced-updates", "--", from.at}
	if _, err = from.run(ctx, c, append(args, "+"+commit+":refs/ramet/base")...); err == nil {
		return nil
	}
	if !fault.Is(err, fault.Failed) && !fault.Is(err, fault.NotFound) {
		return err
	}
	// Not every server gives out a commit by its id: all branches and tags then.
	if _, all := from.run(ctx, c, append(args, "+refs/heads/*:refs/ramet/heads/*", "+refs/tags/*:refs/ramet/tags/*")...); all != nil {
		return all
	}
	if Has(ctx, t, commit) {
		return nil
	}
	return fault.New(fault.NotFound, "%s has no commit %s", from, commit).WithHint("it was never pushed there, or was removed")
}

// submodules lists the submodules of a commit.
func submodules(ctx context.Context, t Tree, commit string) ([]string, error) {
	out, err := t.Run(ctx, "ls-tree", "-r", "-z", commit)
	var paths []string
	for _, entry := range Fields(out) {
		if mode, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(mode, "160000 ") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, err
}

// inspect looks at the configuration of a folder before git works in it. It returns
// variables that switch off the filters which it names.
func (r Remote) inspect(ctx context.Context) (tame []string, err error) {
	if !r.Local() {
		return nil, nil
	}
	out, err := Command{Dir: r.at, User: true}.Run(ctx, "config", "--list", "--name-only", "--show-scope", "-z")
	if err != nil {
		return nil, r.explain(err)
	}
	all := Fields(out)
	local := false
	for i := 0; i+1 < len(all); i += 2 {
		scope, key := all[i], all[i+1]
		lower := strings.ToLower(key)
		mine := scope == "local" || scope == "worktree"
		local = local || mine
		if strings.HasPrefix(lower, "filter.") {
			value := ""
			if strings.HasSuffix(lower, ".required") {
				value = "false"
			}
			// As variables: a key may hold the = that ends it in an argument.
			tame = append(tame, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", len(tame)/2, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", len(tame)/2, value))
		}
		if mine && (lower == "extensions.partialclone" || strings.HasPrefix(lower, "remote.") && strings.HasSuffix(lower, ".promisor")) {
			return nil, fault.New(fault.Conflict, "%s is a partial clone: git would fetch what it lacks with its own configuration", r).
				WithHint("name the URL that it was cloned from, or make it complete with `git fetch --refetch --no-filter`")
		}
	}
	if !local {
		return nil, fault.New(fault.NotFound, "%s is not a git repository", r).WithHint("`git init` and commit, or name another folder")
	}
	return append(tame, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(tame)/2)), nil
}

// dirty reports whether something in a folder is not committed. Ignored files do not count.
func (r Remote) dirty(ctx context.Context, tame []string) bool {
	out, err := Command{Dir: r.at, User: true, Env: tame}.Run(ctx,
		"status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all")
	return err == nil && out != "" // a bare one has no files: an error
}

// Fetch gets a commit of a remote into a repository; nothing in its files changes.
func Fetch(ctx context.Context, t Tree, from Remote, commit string) error {
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if Has(ctx, t, commit) {
		return nil
	}
	return t.fetch(ctx, from, commit)
}

// About describes what a commit says about itself.
type About struct {
	Tree    string
	Date    time.Time
	Message string
}

// Describe reads a commit.
func Describe(ctx context.Context, t Tree, commit string) (About, error) {
	out, err := t.Run(ctx, "show", "-s", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--format=%T%n%ct%n%B", commit)
	parts := strings.SplitN(out, "\n", 3)
	if err != nil || len(parts) < 3 {
		return About{}, err
	}
	seconds, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return About{}, fault.New(fault.Failed, "git show: not understood: %.100q", parts[1])
	}
	return About{Tree: parts[0], Date: time.Unix(seconds, 0), Message: strings.TrimSpace(parts[2])}, nil
}

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
	return CommitTree(ctx, t, ours, tree, message, date, parents...)
}

// CommitTree makes a commit of a tree on top of others, in the name of an identity.
func CommitTree(ctx context.Context, t Tree, by Identity, tree, message string, date time.Time, parents ...string) (string, error) {
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

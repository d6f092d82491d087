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

package worktree

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/git"
)

// Trailer names, at the end of a commit that was made for an agent, whose work it is.
const Trailer = "Ramet-Agent"

// Holds says whether a folder lies in one of the worktrees, there or not.
func (k Keeper) Holds(cwd string) bool {
	rest, err := filepath.Rel(real(k.Dir), filepath.Clean(cwd))
	if err == nil && rest != "." && filepath.IsLocal(rest) {
		return true
	}
	rest, err = filepath.Rel(k.Dir, filepath.Clean(cwd))
	return err == nil && rest != "." && filepath.IsLocal(rest)
}

// Lost says whether a folder should lie in a worktree that is not there.
func (k Keeper) Lost(cwd string) bool {
	_, err := os.Stat(cwd)
	return k.Holds(cwd) && os.IsNotExist(err)
}

// Commit writes down on its branch what is not committed in a tree, in the name of the
// user; a trailer names the agent. Nothing to commit: nothing happens.
func (k Keeper) Commit(ctx context.Context, t Tree, label, uuid string) error {
	r, err := k.open(ctx, t.Dir)
	if err != nil {
		return err
	}
	return k.alone(ctx, func() error {
		if err := r.atRest(ctx, r); err != nil {
			return err
		}
		if dirty, err := r.dirty(ctx); err != nil || !dirty {
			return err
		}
		who, err := r.signature(ctx)
		if err != nil {
			return err
		}
		return r.commit(ctx, who, "ramet: work of "+label+"\n\n"+Trailer+": "+label+" ("+uuid+")")
	})
}

// Work is what a tree holds that the folder it came from has not.
type Work struct {
	Branch  string
	Commits int
	Stat    string   // in git's words; empty: nothing differs
	Files   []string // that differ
	Dirty   []string // of these, what is not committed
}

// Work looks, and changes nothing.
func (k Keeper) Work(ctx context.Context, t Tree, into string) (Work, error) {
	from, base, err := k.since(ctx, t, into)
	if err != nil {
		return Work{}, err
	}
	w := Work{Branch: t.Branch}
	if w.Commits, err = count(ctx, from, "HEAD", "^"+base); err != nil {
		return w, err
	}
	stat, err := run(ctx, from.top, "diff", "--shortstat", "--no-ext-diff", "--no-textconv", base)
	if err != nil {
		return w, err
	}
	w.Stat = strings.TrimSpace(stat)
	names, err := run(ctx, from.top, "diff", "--name-only", "-z", "--no-ext-diff", base)
	if err != nil {
		return w, err
	}
	w.Files = git.Fields(names)
	w.Dirty, err = from.changed(ctx)
	for _, name := range w.Dirty {
		if !slices.Contains(w.Files, name) {
			w.Files = append(w.Files, name)
		}
	}
	return w, err
}

// Diff is what changed in a tree since it left the folder it came from, committed or not;
// of one path, if there is one. New files that are not committed are only named.
func (k Keeper) Diff(ctx context.Context, t Tree, into, path string) (string, error) {
	from, base, err := k.since(ctx, t, into)
	if err != nil {
		return "", err
	}
	args := []string{"diff", "--stat", "--patch", "--no-ext-diff", "--no-textconv", "--no-color", base, "--"}
	if path != "" {
		args = append(args, ":(top,literal)"+path)
	}
	out, err := run(ctx, from.top, args...)
	if err != nil {
		return "", err
	}
	fresh, err := run(ctx, from.top, "ls-files", "--others", "--exclude-standard", "-z")
	for _, name := range git.Fields(fresh) {
		if path == "" || name == path {
			out += "new, not committed: " + name + "\n"
		}
	}
	return out, err
}

// since is the tree, and the commit at which it and the folder it came from parted.
func (k Keeper) since(ctx context.Context, t Tree, into string) (repo, string, error) {
	from, to, err := k.both(ctx, t, into)
	if err != nil {
		return from, "", err
	}
	here, err := to.head(ctx)
	if err != nil {
		return from, "", err
	}
	base, err := run(ctx, from.top, "merge-base", "HEAD", here)
	return from, strings.TrimSpace(base), err
}

// changed lists what is not committed.
func (r repo) changed(ctx context.Context) ([]string, error) {
	out, err := run(ctx, r.top, "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
	var files []string
	for _, line := range git.Fields(out) {
		if len(line) > 3 {
			files = append(files, line[3:])
		}
	}
	return files, err
}

// Stands is the branch that is checked out in a folder, and how many files there are not
// committed. Programs of the repository are not run: where its configuration names some,
// nothing is said.
func Stands(ctx context.Context, dir string) (branch string, changed int, err error) {
	r, err := open(ctx, dir)
	if err != nil {
		return "", 0, err
	}
	if err := r.harmless(ctx, nil); err != nil {
		return "", 0, err
	}
	name, err := run(ctx, r.top, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return "", 0, err
	}
	files, err := r.changed(ctx)
	return strings.TrimSpace(name), len(files), err
}

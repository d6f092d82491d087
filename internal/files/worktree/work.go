package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/files/git"
)

// Trailer names, at the end of a commit that was made for an agent, whose work it is.
const Trailer = "Ramet-Agent"

// Holds reports whether a folder lies in one of the worktrees, there or not.
func (k Keeper) Holds(cwd string) bool {
	rest, err := filepath.Rel(real(k.Dir), filepath.Clean(cwd))
	if err == nil && rest != "." && filepath.IsLocal(rest) {
		return true
	}
	rest, err = filepath.Rel(k.Dir, filepath.Clean(cwd))
	return err == nil && rest != "." && filepath.IsLocal(rest)
}

// Lost reports whether a folder should lie in a worktree that is not there.
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

// Work lists what a tree holds that the folder it came from has not, and that is its agent's own:
// what came from there without being committed, and is as it came, does not count.
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
	own, err := from.own(ctx, base)
	if err != nil {
		return w, err
	}
	w.Files, w.Dirty = own.files, own.dirty
	w.Stat, err = from.stat(ctx, own)
	return w, err
}

// own lists the changes of a tree's agent.
type own struct {
	files []string        // since it left the folder it came from
	dirty []string        // of these, what is not committed
	fresh map[string]bool // what git does not know; true: of these
	since string          // the commit to compare with: what was brought is in it
}

// own finds what the agent of a tree changed since a commit.
func (r repo) own(ctx context.Context, base string) (own, error) {
	o := own{fresh: map[string]bool{}, since: r.begun(ctx, base)}
	out, err := run(ctx, r.top, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", base, "HEAD")
	if err != nil {
		return o, err
	}
	o.files = git.Fields(out)
	committed := map[string]bool{}
	for _, name := range o.files {
		committed[name] = true
	}
	if o.dirty, err = r.changes(ctx, true); err != nil {
		return o, err
	}
	open := map[string]bool{}
	for _, name := range o.dirty {
		if open[name] = true; !committed[name] {
			o.files = append(o.files, name)
		}
	}
	others, err := run(ctx, r.top, "ls-files", "--others", "--exclude-standard", "-z")
	for _, name := range git.Fields(others) {
		o.fresh[name] = open[name]
	}
	return o, err
}

// counted returns the files whose lines can be compared: git knows them, and they are the agent's.
func (o own) counted() map[string]bool {
	out := make(map[string]bool, len(o.files))
	for _, name := range o.files {
		_, unknown := o.fresh[name]
		out[name] = !unknown
	}
	return out
}

// stat counts what changed in the files that git knows.
func (r repo) stat(ctx context.Context, o own) (string, error) {
	out, err := run(ctx, r.top, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", o.since)
	if err != nil {
		return "", err
	}
	counts, changed, added, removed := o.counted(), 0, 0, 0
	for _, line := range git.Fields(out) { // added, removed, name; "-" for what has no lines
		f := strings.SplitN(line, "\t", 3)
		if len(f) != 3 || !counts[f[2]] {
			continue
		}
		plus, _ := strconv.Atoi(f[0])
		minus, _ := strconv.Atoi(f[1])
		changed, added, removed = changed+1, added+plus, removed+minus
	}
	if changed == 0 {
		return "", nil
	}
	words := []string{text.Count(changed, "file") + " changed"}
	if added > 0 || removed == 0 {
		words = append(words, text.Count(added, "insertion")+"(+)")
	}
	if removed > 0 || added == 0 {
		words = append(words, text.Count(removed, "deletion")+"(-)")
	}
	return strings.Join(words, ", "), nil
}

// Diff returns what the agent of a tree changed since it left the folder it came from, committed or
// not; of one path, if there is one. New files that are not committed are only named.
func (k Keeper) Diff(ctx context.Context, t Tree, into, path string) (string, error) {
	from, base, err := k.since(ctx, t, into)
	if err != nil {
		return "", err
	}
	o, err := from.own(ctx, base)
	if err != nil {
		return "", err
	}
	differ, err := run(ctx, from.top, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", o.since)
	if err != nil {
		return "", err
	}
	args := []string{"diff", "--stat", "--patch", "--no-ext-diff", "--no-textconv", "--no-color", o.since, "--", ":(top)"}
	if path != "" {
		args[len(args)-1] = ":(top,literal)" + path
	}
	counts := o.counted()
	for _, name := range git.Fields(differ) {
		if !counts[name] {
			args = append(args, ":(top,literal,exclude)"+name)
		}
	}
	out, err := run(ctx, from.top, args...)
	for _, name := range o.dirty {
		if (path == "" || name == path) && o.fresh[name] {
			out += "new, not committed: " + name + "\n"
		}
	}
	return out, err
}

// since returns the tree, and the commit at which it and the folder it came from parted.
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

// Stands returns the branch that is checked out in a folder, and how many files there are not
// committed; none: the folder is in no repository, or on no branch. Programs of the repository are
// not run: where its configuration names some, nothing is said.
func Stands(ctx context.Context, dir string) (branch string, changed int, err error) {
	top := above(dir)
	if top == "" {
		return "", 0, nil
	}
	if err := (repo{top: top}).harmless(ctx, nil); err != nil {
		return "", 0, err
	}
	out, err := run(ctx, top, "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	if err != nil {
		return "", 0, err
	}
	for _, entry := range git.Fields(out) {
		switch name, head := strings.CutPrefix(entry, "# branch.head "); {
		case head && name != "(detached)":
			branch = name
		case !strings.HasPrefix(entry, "# "):
			changed++
		}
	}
	return branch, changed, nil
}

// above returns the next folder, from this one upwards, that has a .git; empty: none has. A folder of
// that name without a HEAD is no repository, and git passes it by.
func above(dir string) string {
	for dir = real(dir); ; {
		if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			if _, err := os.Lstat(filepath.Join(dir, ".git", "HEAD")); !info.IsDir() || err == nil {
				return dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Package worktree gives an agent files of its own: a git worktree and a branch,
// made with the git command.
//
//	<ramet's home>/workspaces/<workspace>/worktrees/<uuid of the agent>
//	branch ramet/<name of the agent, or its short id>
//
// It promises:
//
//   - A worktree begins with the commit that is checked out in the parent's folder.
//     What is not committed there is not in it, and Tree.Left says so, until a person brings
//     it (NoteBrought): while it is as it came it is the parent's work, which is neither
//     merged nor counted as the child's.
//   - Where the file system can, its files share their blocks with the parent's.
//   - Merge loses nothing: what the child did not commit is committed first; a
//     conflict is undone and reported with its files, and the folder is as it was
//     before.
//   - Remove refuses while something is not committed or merged nowhere, unless forced. What git
//     does not have, ignored files included, is moved to the trash; commits that are merged
//     nowhere stay on their branch.
//   - What a merge would overwrite without a word, because git ignores it, is moved to the trash.
//   - What fails leaves no trace. One change at a time for each Keeper's folder, also
//     between processes.
//   - Hooks of the repository never run. Programs that its own configuration names
//     (filters, merge drivers) run only if a person accepted them; else UNTRUSTED. No other
//     repository is asked for anything. Variables GIT_… count for nothing.
//
// Files that git ignores are no agent's work here: they are not merged. Git says what is wrong in its own words where nothing
// better is known.
package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/trust"
	"ramet/internal/files"
	"ramet/internal/files/git"
)

// Keeper keeps the worktrees of one workspace.
type Keeper struct {
	Dir string // where they lie; see Folder. Made when needed
	// Accepts reports whether the user has accepted a program that the repository's own
	// configuration names; nil: none.
	Accepts func(trust.Thing) (bool, error)
	// Trash gets what git does not have, when a tree is removed or a merge needs its place; one
	// without Dir: a folder in Dir.
	Trash files.Trash
	// Clone makes a file that shares its content with another; nil: reflink.Clone.
	Clone func(dir *os.Root, name string, perm os.FileMode, src *os.File) error
}

// Folder returns where the worktrees of a workspace lie, by its name.
func Folder(home, workspace string) string {
	return filepath.Join(home, "workspaces", workspace, "worktrees")
}

// Tree is a worktree.
type Tree struct {
	Child   id.Agent // whose it is
	Dir     string   // its folder, real path
	Branch  string   // what is checked out; empty: no branch
	Head    string   // the commit
	Cwd     string   // where in it the child works; only from Make
	Left    bool     // the parent has changes that are not committed, and not here; only from Make
	Missing []string // the names of those changes
	// Brought counts the files copied from the parent that are not committed there; the caller that copied
	// them sets it.
	Brought int
	Gone    bool // the folder no longer exists; only from List
}

// prefix of branches.
const prefix = "ramet/"

// Make makes a worktree for a child that is about to be forked by an agent whose
// folder is project; from another commit than the one there, if it is named and the repository has it.
// If the fork fails: Unmake. No repository, or no git: NOT_FOUND; no commit yet: CONFLICT.
func (k Keeper) Make(ctx context.Context, project string, child id.Agent, name, commit string) (Tree, error) {
	r, err := k.open(ctx, project)
	if err != nil {
		return Tree{}, err
	}
	var t Tree
	err = k.alone(ctx, func() (err error) {
		t, err = k.add(ctx, r, child, name, commit)
		return err
	})
	return t, err
}

func (k Keeper) add(ctx context.Context, r repo, child id.Agent, name, commit string) (Tree, error) {
	t := Tree{Child: child, Dir: filepath.Join(real(k.Dir), string(child))}
	t.Cwd = filepath.Join(t.Dir, filepath.FromSlash(r.prefix))
	if _, err := os.Lstat(t.Dir); err == nil {
		return Tree{}, fault.New(fault.Conflict, "there is something at %s already", t.Dir).
			WithHint("look at it; `ramet worktree rm` removes a worktree")
	}
	var err error
	if t.Head, err = r.head(ctx); err != nil {
		return Tree{}, err
	}
	if git.CheckCommit(commit) == nil {
		if _, err := run(ctx, r.top, "cat-file", "-e", commit+"^{commit}"); err == nil {
			t.Head = commit
		}
	}
	if t.Missing, err = r.status(ctx, "normal"); err != nil {
		return Tree{}, err
	}
	t.Left = len(t.Missing) > 0
	if t.Branch, err = r.free(ctx, name, child); err != nil {
		return Tree{}, err
	}
	if k.shares(r) {
		_, err = run(ctx, r.top, "worktree", "add", "--quiet", "--no-track", "--no-checkout", "-b", t.Branch, t.Dir, t.Head)
		if err == nil {
			err = k.checkout(ctx, r, t)
		}
	} else {
		_, err = run(ctx, r.top, "worktree", "add", "--quiet", "--no-track", "-b", t.Branch, t.Dir, t.Head)
	}
	if err == nil {
		err = makeFolder(t.Cwd)
	}
	if err != nil {
		// Git leaves the branch, and the folder too when it is stopped.
		if left := r.undo(ctx, t); left != nil {
			err = fault.New(fault.CodeOf(err), "%w; and something of it is left at %s: %v", err, t.Dir, left)
		}
		return Tree{}, err
	}
	return t, nil
}

// makeFolder makes the child's folder, where nothing in the parent's is committed.
func makeFolder(dir string) error {
	if err := step.MkdirAll(dir, 0o777); err != nil {
		return fault.New(fault.StorageIO, "make the child's folder: %w", err)
	}
	return nil
}

// Unmake takes back what Make made, with everything in it, also after ctx ended.
func (k Keeper) Unmake(ctx context.Context, project string, t Tree) error {
	ctx = context.WithoutCancel(ctx)
	r, err := open(ctx, project)
	if err != nil {
		return err
	}
	return k.alone(ctx, func() error { return r.undo(ctx, t) })
}

// undo removes as much of a worktree and its branch as there is. Git is never asked to
// prune: that would forget worktrees of the user's on a disk that is not mounted.
func (r repo) undo(ctx context.Context, t Tree) error {
	ctx = context.WithoutCancel(ctx)
	_, err := run(ctx, r.top, "worktree", "remove", "--force", "--force", t.Dir) // twice: half made, it is locked
	if f := (*git.Failed)(nil); err != nil && !(errors.As(err, &f) && strings.Contains(f.Stderr, "is not a working tree")) {
		return err
	}
	if err := step.RemoveAll(t.Dir); err != nil {
		return fault.New(fault.StorageIO, "remove worktree: %w", err)
	}
	if taken, err := r.taken(ctx, t.Branch); err != nil || !taken {
		return err
	}
	_, err = run(ctx, r.top, "branch", "-D", "--quiet", "--", t.Branch)
	return err
}

// free finds a branch that does not exist.
func (r repo) free(ctx context.Context, name string, child id.Agent) (string, error) {
	start, err := r.ours(ctx)
	if err != nil {
		return "", err
	}
	base := start + name
	// Names of agents may hold what names of branches may not, such as two dots.
	if _, err := run(ctx, r.top, "check-ref-format", "--branch", base); name == "" || err != nil {
		base = start + child.Short()
	}
	branch := base
	for n := 2; ; n++ {
		taken, err := r.taken(ctx, branch)
		if err != nil || !taken {
			return branch, err
		}
		branch = base + "-" + strconv.Itoa(n)
	}
}

// ours returns what our branches begin with in this repository: beside a branch that
// is called ramet there can be no ramet/x.
func (r repo) ours(ctx context.Context) (string, error) {
	out, err := run(ctx, r.top, "for-each-ref", "--format=%(refname)", "refs/heads/ramet")
	if strings.TrimSpace(out) == "refs/heads/ramet" {
		return "ramet-", err
	}
	return prefix, err
}

// taken reports whether there is a branch of that name, or one below it.
func (r repo) taken(ctx context.Context, branch string) (bool, error) {
	out, err := run(ctx, r.top, "for-each-ref", "refs/heads/"+branch)
	return out != "", err
}

// open finds a repository and makes sure that it may act.
func (k Keeper) open(ctx context.Context, dir string) (repo, error) {
	r, err := open(ctx, dir)
	if err == nil {
		err = r.harmless(ctx, k.Accepts)
	}
	return r, err
}

// alone runs one change at a time.
func (k Keeper) alone(ctx context.Context, do func() error) error {
	if err := durable.MakeFolder(k.Dir, 0o700); err != nil {
		return err
	}
	return durable.While(ctx, filepath.Join(k.Dir, "worktrees"), do)
}

// repo is a checked-out repository, seen from one of its folders.
type repo struct {
	top    string // its folder, real path
	prefix string // where we are in it; empty at the top
	common string // the repository itself, which its worktrees share
	git    string // what belongs to this worktree alone
}

// open finds the repository of a folder.
func open(ctx context.Context, dir string) (repo, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return repo{}, fault.New(fault.NotFound, "no folder %s", dir).WithHint("it was moved or removed")
	}
	out, err := run(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--absolute-git-dir", "--show-prefix")
	if f := (*git.Failed)(nil); errors.As(err, &f) && (strings.Contains(f.Stderr, "not a git repository") || strings.Contains(f.Stderr, "must be run in a work tree")) {
		return repo{}, fault.New(fault.NotFound, "%s is in no git repository with files", dir).
			WithHint("worktrees need one: `git init`, then commit")
	}
	if err != nil {
		return repo{}, err
	}
	parts := strings.Split(out, "\n")
	if len(parts) != 5 { // a line for each, and nothing behind the last
		return repo{}, fault.New(fault.Failed, "git rev-parse in %q: not understood: %.200q", dir, out).
			WithHint("a path with a line break in it cannot be used")
	}
	return repo{top: filepath.FromSlash(parts[0]), common: real(parts[1]), git: filepath.FromSlash(parts[2]), prefix: strings.TrimSuffix(parts[3], "/")}, nil
}

// real returns the one name of a path, as far as it exists.
func real(path string) string {
	if r, err := filepath.EvalSymlinks(filepath.FromSlash(path)); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// head returns the commit that is checked out.
func (r repo) head(ctx context.Context) (string, error) {
	out, err := run(ctx, r.top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if f := (*git.Failed)(nil); errors.As(err, &f) && f.Exit == 1 {
		return "", fault.New(fault.Conflict, "the repository %s has no commit yet", r.top).
			WithHint("commit something first: a worktree begins with a commit")
	}
	return strings.TrimSpace(out), err
}

// dirty reports whether something is not committed (changes).
func (r repo) dirty(ctx context.Context) (bool, error) {
	paths, err := r.changes(ctx, false)
	return len(paths) > 0, err
}

// signature returns the settings that git lacks to write a commit.
func (r repo) signature(ctx context.Context) ([]string, error) {
	var out []string
	for key, value := range map[string]string{"user.name": "ramet", "user.email": "ramet@localhost"} {
		have, err := run(ctx, r.top, "config", "--get", key)
		if f := (*git.Failed)(nil); err != nil && !(errors.As(err, &f) && f.Exit == 1) {
			return nil, err
		}
		if strings.TrimSpace(have) == "" {
			out = append(out, "-c", key+"="+value)
		}
	}
	return out, nil
}

// merging returns the commit that a merge under way brings in.
func (r repo) merging() (string, bool) {
	b, err := os.ReadFile(filepath.Join(r.git, "MERGE_HEAD"))
	return strings.TrimSpace(string(b)), err == nil
}

// run runs git in a folder and returns what it prints. The user's own configuration
// counts: whose commits they are, and how files are kept.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	return git.Command{Dir: dir, User: true}.Run(ctx, args...)
}

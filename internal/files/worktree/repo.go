package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
)

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

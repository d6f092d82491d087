package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
)

// Push gives a branch of a remote a commit. The branch must have the commit was, or not
// exist where that is empty: CONFLICT if not, unless it has the new one already. After an
// answer that was lost the remote is asked; UNKNOWN_OUTCOME if it does not tell.
// FORGE_REFUSED: the remote does not want it.
func Push(ctx context.Context, t Tree, to Remote, branch, commit, was string) error {
	if err := checkBranch(ctx, branch); err != nil {
		return err
	}
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if err := to.exists(); err != nil {
		return err
	}
	c, err := t.courier(ctx, commit)
	if err != nil {
		return err
	}
	defer os.RemoveAll(c.Dir)
	ref := "refs/heads/" + branch
	args := []string{"push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--force-with-lease=" + ref + ":" + was}
	if to.Local() {
		// Hooks of the other side would be ours to run.
		args = append(args, "--receive-pack=git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true receive-pack")
	}
	_, err = to.run(ctx, c, append(args, "--", to.at, commit+":"+ref)...)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && fault.Is(err, fault.Cancelled) {
		return err
	}
	now, _, lookup := RemoteBranch(ctx, to, branch)
	switch {
	case lookup == nil && now == commit:
		return nil // it arrived, whatever was said about it
	case lookup != nil && fault.Is(err, fault.Denied):
		return err // repeating changes nothing for a user who is not let in
	case lookup != nil:
		return fault.New(fault.UnknownOutcome, "whether %s has the branch %s is not known: %w", to, branch, err).
			WithHint("look at it there, then resume with --redo")
	case now != was:
		return fault.New(fault.Conflict, "the branch %s of %s has another commit, %.12s", branch, to, now).
			WithHint("choose another name for the branch, or remove that one")
	case said(err, "[rejected]", "[remote rejected]", "hook declined", "protected branch", "! "):
		return fault.New(fault.ForgeRefused, "%s does not take the branch %s: %s", to, branch, reason(err)).
			WithHint("it may be protected, or a rule there forbids it: choose another branch")
	}
	return err
}

// courier is git in an empty repository that sees the tree's objects and nothing else of
// it: what the tree's configuration says about ssh, helpers and addresses must not
// decide where the user's credentials go. The caller removes its folder.
func (t Tree) courier(ctx context.Context, commit string) (Command, error) {
	from, err := filepath.Abs(filepath.Join(t.git(), "objects"))
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.git(), err)
	}
	dir, err := os.MkdirTemp("", "ramet-push-")
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "push: make a temporary folder: %w", err)
	}
	if _, err := Run(ctx, dir, "init", "--quiet", "--bare", "--template=", "--object-format="+format(commit), "."); err != nil {
		os.RemoveAll(dir)
		return Command{}, err
	}
	return Command{Dir: dir, Env: []string{"GIT_DIR=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quotePath(from)}}, nil
}

// quotePath writes a path as git reads it in a list of paths.
func quotePath(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// reason returns what git says about the reference.
func reason(err error) string {
	f, _ := fault.Of(err)
	for line := range strings.Lines(f.Err.Error()) {
		if strings.Contains(line, "rejected]") {
			return strings.TrimSpace(line)
		}
	}
	return f.Message
}

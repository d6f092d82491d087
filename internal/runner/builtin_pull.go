package runner

import (
	"bytes"
	"context"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/files/git"
	"ramet/internal/runner/forge"
)

// pr is artifacts/pr.json.
type pr struct {
	BaseCommit    string   `json:"base_commit"`
	Branch        string   `json:"branch"`
	Title         string   `json:"title"`
	AffectedPaths []string `json:"affected_paths"`
	Rollback      []string `json:"rollback"`
	URL           string   `json:"url,omitempty"`
	Bundle        string   `json:"bundle,omitempty"`
}

// The trailers of a commit: its key, and its run.
const (
	trailer    = "Ramet-Key"
	runTrailer = "Ramet-Run"
)

var trailerLine = text.Regexp(`(?m)^` + trailer + `: (.+)$`)

// keyOf is the key in the text of a commit.
func keyOf(message string) string {
	if m := trailerLine().FindAllStringSubmatch(message, -1); len(m) > 0 {
		return m[len(m)-1][1]
	}
	return ""
}

// pullRequest brings the patch to the target as a branch, and opens a pull request if
// there is a forge; else it makes files of both. With: branch, base_branch, title, body. The
// title may be an input title.txt, and the body one that ends in .md.
func (j *builtinAttempt) pullRequest(ctx context.Context) (Result, error) {
	in, err := j.restore(ctx)
	if err != nil {
		return Result{}, err
	}
	patch, err := j.input(ctx, "*.patch")
	if err != nil {
		return Result{}, err
	}
	title, err := j.text(ctx, "title", "title.txt")
	if err != nil {
		return Result{}, err
	}
	body, err := j.text(ctx, "body", "*.md")
	if err != nil {
		return Result{}, err
	}
	target := in.target()
	out := pr{BaseCommit: target.Commit, Branch: j.value("branch"), Title: text.Line(string(title), 200), AffectedPaths: []string{}}
	if out.Branch == "" {
		return Result{}, fault.New(fault.InvalidRecipe, "worker %s needs the name of a branch", j.it.Worker).WithHint("with: {branch: …}")
	}
	if out.Title == "" {
		return Result{}, fault.New(fault.InvalidRecipe, "worker %s needs a title", j.it.Worker).WithHint("with: {title: …}, or an input title.txt that says something")
	}
	if len(bytes.TrimSpace(patch)) == 0 {
		out.Rollback = []string{"Nothing was changed, and nothing was opened."}
		return j.encoded("*.json", out)
	}
	repo := git.Tree{Dir: j.at("work/" + target.Name)}
	to, f, ok, err := j.remote(j.value(target.Name))
	if err != nil {
		return Result{}, err
	}
	commit, err := j.commit(ctx, repo, git.UserIdentity(ctx, to), target.Commit, patch, out.Title)
	if err != nil {
		return Result{}, err
	}
	if out.AffectedPaths, err = git.ChangedBetween(ctx, repo, target.Commit, commit); err != nil {
		return Result{}, err
	}
	if !ok {
		return j.files(ctx, repo, to, commit, out, patch, body)
	}
	opened, err := j.publish(ctx, repo, to, f, commit, out, body)
	if err != nil {
		return Result{}, err
	}
	out.URL = opened.URL
	out.Rollback = []string{
		"Before it is merged: close the pull request and delete its branch: git push origin --delete " + out.Branch,
		"Afterwards: git revert -m 1 MERGE_COMMIT, or git revert COMMIT where it was squashed",
	}
	r, err := j.encoded("*.json", out)
	r.PR = opened.URL
	return r, err
}

// text is a text of the pull request: as with says, or an input of that name; empty where
// there is neither.
func (j *builtinAttempt) text(ctx context.Context, key, name string) ([]byte, error) {
	if value := j.it.Task.With[key]; value != "" {
		return []byte(value), nil
	}
	data, _, err := j.given(ctx, name)
	return data, err
}

// commit makes the commit of the branch, in the user's name. It depends on the patch, the
// base, the key and the run, which a trailer names.
func (j *builtinAttempt) commit(ctx context.Context, repo git.Tree, by git.Identity, base string, patch []byte, title string) (string, error) {
	tree, err := git.ApplyTo(ctx, repo, base, patch)
	if err != nil {
		return "", err
	}
	about, err := git.Describe(ctx, repo, base)
	if err != nil {
		return "", err
	}
	message := title + "\n\n" + runTrailer + ": " + j.it.RunID
	if key := strings.Join(strings.Fields(j.it.Task.Key), " "); key != "" {
		message += "\n" + trailer + ": " + key
	}
	// A time that is not ours to choose, and comes after what it is made on.
	return git.CommitTree(ctx, repo, by, tree, message, about.Date.Add(time.Second), base)
}

// publish pushes the branch and opens the pull request, as far as that was not done.
func (j *builtinAttempt) publish(ctx context.Context, repo git.Tree, to git.Remote, f forge.Forge, commit string, out pr, body []byte) (forge.PR, error) {
	base := j.value("base_branch")
	if base == "" {
		var err error
		if _, base, err = git.RemoteHead(ctx, to); err != nil {
			return forge.PR{}, err
		}
	}
	if base == "" || base == out.Branch {
		return forge.PR{}, fault.New(fault.Conflict, "%s has no default branch that %s could be merged into", to, out.Branch).
			WithHint("name one with `base_branch`")
	}
	if was, ok, err := f.Find(ctx, out.Branch, base); err != nil || ok && !was.Open && was.Commit == commit {
		return was, err // merged or closed meanwhile: it is not opened again
	}
	now, exists, err := git.RemoteBranch(ctx, to, out.Branch)
	if err != nil {
		return forge.PR{}, err
	}
	same := false
	if exists {
		if same, err = j.ours(ctx, repo, to, out, now, commit); err != nil {
			return forge.PR{}, err
		}
	}
	if !same {
		if err := git.Push(ctx, repo, to, out.Branch, commit, now); err != nil {
			return forge.PR{}, err
		}
	}
	return f.Open(ctx, forge.Request{Head: out.Branch, Base: base, Title: out.Title, Body: string(body)})
}

// ours looks at the commit that a branch has. same: it brings what ours brings. CONFLICT:
// it is not ours.
func (j *builtinAttempt) ours(ctx context.Context, repo git.Tree, to git.Remote, out pr, now, commit string) (same bool, err error) {
	if now == commit {
		return true, nil
	}
	if err := git.Fetch(ctx, repo, to, now); err != nil {
		return false, err
	}
	there, err := git.Describe(ctx, repo, now)
	if err != nil {
		return false, err
	}
	here, err := git.Describe(ctx, repo, commit)
	switch {
	case err != nil:
		return false, err
	case there.Tree == here.Tree:
		return true, nil
	case keyOf(here.Message) != "" && keyOf(there.Message) == keyOf(here.Message):
		return false, nil // an earlier attempt, which brought something else
	case git.Behind(ctx, repo, now, out.BaseCommit):
		return false, nil // what was merged may be left behind
	}
	return false, branchTaken(to, out.Branch)
}

// files makes files of the pull request.
func (j *builtinAttempt) files(ctx context.Context, repo git.Tree, to git.Remote, commit string, out pr, patch, body []byte) (Result, error) {
	folder, ok := j.folder()
	if !ok {
		return Result{}, fault.New(fault.InvalidRecipe, "worker %s has no output for the files of a pull request", j.it.Worker).
			WithHint("add artifacts/pr/** to its outputs, or configure a forge with GITHUB_TOKEN or GITEA_TOKEN")
	}
	if to.Local() {
		now, ok, err := git.RemoteBranch(ctx, to, out.Branch)
		if fault.Is(err, fault.NotFound) {
			ok, err = false, nil // the folder is gone, and not needed
		}
		if err != nil {
			return Result{}, err
		}
		if ok {
			if _, err := j.ours(ctx, repo, to, out, now, commit); err != nil {
				return Result{}, err
			}
		}
	}
	made, err := forge.LocalFiles(ctx, repo, forge.Change{Branch: out.Branch, Base: out.BaseCommit, Commit: commit, Title: out.Title, Patch: patch, Body: body})
	if err != nil {
		return Result{}, err
	}
	out.Rollback = []string{
		"Nothing outside was changed: without the branch " + out.Branch + " all is as before",
		"After it was fetched: git branch -D " + out.Branch,
		"After it was merged: git revert -m 1 MERGE_COMMIT, or git revert COMMIT where it was squashed",
	}
	contents := map[string][]byte{}
	for name, data := range made {
		contents["*/"+name] = data
	}
	out.Bundle = folder + "/branch.bundle"
	if contents["*.json"], err = encodeBuiltin(out); err != nil {
		return Result{}, err
	}
	r, err := j.result(contents)
	r.PR = out.Bundle
	return r, err
}

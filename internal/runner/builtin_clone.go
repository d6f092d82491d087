package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/files"
	"ramet/internal/files/git"
	"ramet/internal/launch/sandbox"
	"ramet/internal/runner/forge"
)

// builtinInputs is artifacts/inputs.json.
type builtinInputs struct {
	Inputs []pinned `json:"inputs"`
	Base   string   `json:"base"`             // commit of work/base.bundle
	Source string   `json:"source,omitempty"` // commit of work/source.bundle, where the recipe asks for it
}

type pinned struct {
	Name   string `json:"name"` // repo or into
	Commit string `json:"commit"`
}

func (in builtinInputs) commit(name string) string {
	for _, p := range in.Inputs {
		if p.Name == name {
			return p.Commit
		}
	}
	return ""
}

// target is the repository that is written to: into if it is given.
func (in builtinInputs) target() pinned { return in.Inputs[len(in.Inputs)-1] }

const (
	bundleFile = "work/base.bundle"
	sourceFile = "work/source.bundle" // the files of repo, also where into is another repository
)

// clone makes work/repo, work/into and work/base.bundle. With: repo, into; commit and
// into_commit pin them; branch is the one that will be written, and must be free.
func (j *builtinAttempt) clone(ctx context.Context) (Result, error) {
	// What this run pinned before stays.
	before, err := j.pins()
	if err != nil {
		return Result{}, err
	}
	names := []string{"repo"}
	if j.value("into") != "" {
		names = append(names, "into")
	}
	var in builtinInputs
	var clones []Clone
	var issues []Issue
	for _, name := range names {
		address := j.value(name)
		if address == "" {
			return Result{}, fault.New(fault.Usage, "there is no repository to clone").WithHint("name one with --repo")
		}
		from, _, _, err := j.remote(address)
		if err != nil {
			return Result{}, err
		}
		pin := cmp.Or(before.commit(name), j.value(map[string]string{"repo": "commit", "into": "into_commit"}[name]))
		c, err := git.Clone(ctx, from, j.at("work/"+name), pin)
		if err != nil {
			return Result{}, err
		}
		in.Inputs = append(in.Inputs, pinned{name, c.Commit})
		clones = append(clones, Clone{Name: name, URL: from.String(), Commit: c.Commit})
		issues = append(issues, cloneWarnings(name, c)...)
	}
	target := in.target()
	if in.Base, err = git.Bundle(ctx, git.Tree{Dir: j.at("work/" + target.Name)}, target.Commit, j.at(bundleFile)); err != nil {
		return Result{}, err
	}
	if branch := j.value("branch"); branch != "" {
		if err := j.free(ctx, target, branch, in.Base); err != nil {
			return Result{}, err
		}
	}
	made := map[string][]byte{}
	if slices.ContainsFunc(j.it.Task.Outputs, func(o Output) bool { return o.Path == sourceFile }) {
		if in.Source, err = git.Bundle(ctx, git.Tree{Dir: j.at("work/repo")}, in.commit("repo"), j.at(sourceFile)); err != nil {
			return Result{}, err
		}
		if made["source.bundle"], err = os.ReadFile(j.at(sourceFile)); err != nil {
			return Result{}, durable.Failure("read", sourceFile, err)
		}
	}
	list, err := encodeBuiltin(in)
	if err != nil {
		return Result{}, err
	}
	bundle, err := os.ReadFile(j.at(bundleFile))
	if err != nil {
		return Result{}, durable.Failure("read", bundleFile, err)
	}
	made["inputs.json"], made["base.bundle"] = list, bundle
	r, err := j.result(made)
	r.Clones, r.Issues = clones, issues
	return r, err
}

// pins are the commits of the run, if it has any yet.
func (j *builtinAttempt) pins() (builtinInputs, error) {
	var in builtinInputs
	data, err := os.ReadFile(j.at(inputsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err != nil {
		return in, durable.Failure("read", inputsFile, err)
	}
	return in, decodeStrict(data, &in)
}

// cloneWarnings returns warnings about changes and submodules that are not in a clone.
func cloneWarnings(name string, c git.Cloned) []Issue {
	var out []Issue
	if c.Dirty {
		out = append(out, Issue{Gate: "clone", Severity: Warn, Code: "NOT_COMMITTED",
			Message: "changes in " + name + " that are not committed are left out", Fix: "commit them and start another run, if they matter"})
	}
	if len(c.Submodules) > 0 {
		out = append(out, Issue{Gate: "clone", Severity: Warn, Code: "SUBMODULES",
			Message: "submodules of " + name + " are left out: " + strings.Join(c.Submodules, ", ")})
	}
	return out
}

// free refuses a branch that is not of this work, before work is spent on it.
func (j *builtinAttempt) free(ctx context.Context, target pinned, branch, base string) error {
	to, _, signed, err := j.remote(j.value(target.Name))
	if err != nil || !signed && !to.Local() {
		return err // nothing will be pushed
	}
	now, ok, err := git.RemoteBranch(ctx, to, branch)
	if err != nil || !ok {
		return err
	}
	tree := git.Tree{Dir: j.at("work/" + target.Name)}
	if err := git.Fetch(ctx, tree, to, now); err != nil {
		return err
	}
	about, err := git.Describe(ctx, tree, now)
	if err != nil {
		return err
	}
	_, current, err := git.RemoteHead(ctx, to)
	if err != nil {
		return err
	}
	if current != branch && (strings.Contains(keyOf(about.Message), base) || git.Behind(ctx, tree, now, target.Commit)) {
		return nil // of this work, or of an earlier run over the same files, or merged
	}
	return branchTaken(to, branch)
}

func branchTaken(to git.Remote, branch string) error {
	return fault.New(fault.Conflict, "%s has a branch %s already, and it is not of this work", to, branch).
		WithHint("choose another with --set branch=NAME, or remove that one there")
}

// restore makes sure that the clones and the bundle are there, as they were pinned.
func (j *builtinAttempt) restore(ctx context.Context) (builtinInputs, error) {
	in, err := j.pins()
	if slices.ContainsFunc(j.it.Inputs, func(i Input) bool { return i.Path == inputsFile }) {
		in = builtinInputs{}
		err = j.read(ctx, "inputs.json", &in)
	}
	if err != nil {
		return in, err
	}
	if len(in.Inputs) == 0 {
		return in, fault.New(fault.NotFound, "%s names no repository", inputsFile).WithHint("the worker clone makes it: let it work first")
	}
	for _, p := range in.Inputs {
		from, _, _, err := j.remote(j.value(p.Name))
		if err != nil {
			return in, err
		}
		if _, err := git.Clone(ctx, from, j.at("work/"+p.Name), p.Commit); err != nil {
			return in, err
		}
	}
	if _, err := os.Stat(j.at(bundleFile)); err == nil {
		return in, nil
	}
	target := in.target()
	base, err := git.Bundle(ctx, git.Tree{Dir: j.at("work/" + target.Name)}, target.Commit, j.at(bundleFile))
	if err == nil && base != in.Base {
		err = fault.New(fault.Conflict, "the files at %s are not the ones this run began with", target.Commit)
	}
	return in, err
}

// apply makes work/tree anew, as the one writer: the base, the patches among the inputs in
// their order, and the files that with.files names. Nothing in it knows what the changes are
// about.
func (j *builtinAttempt) apply(ctx context.Context) (Result, error) {
	var in builtinInputs
	if err := j.read(ctx, "inputs.json", &in); err != nil {
		return Result{}, err
	}
	bundle, err := j.bundle(ctx)
	if err != nil {
		return Result{}, err
	}
	tree := git.Tree{Dir: j.at(gateTree)}
	if err := git.FromBundle(ctx, bundle, in.Base, tree); err != nil {
		return Result{}, err
	}
	issues, err := j.merge(ctx, tree)
	if err != nil {
		return Result{}, err
	}
	if err := j.lay(ctx, tree); err != nil {
		return Result{}, err
	}
	patch, err := git.Diff(ctx, tree)
	if err != nil {
		return Result{}, err
	}
	r, err := j.result(map[string][]byte{"*.patch": patch})
	r.Issues = issues
	return r, err
}

// bundle returns the bundle of the files that the run began with, and makes it if it is missing.
func (j *builtinAttempt) bundle(ctx context.Context) (string, error) {
	at := j.at(bundleFile)
	if _, err := os.Stat(at); err == nil {
		return at, nil
	}
	data, err := j.input(ctx, path.Base(bundleFile))
	if err != nil {
		return "", err
	}
	if err := durable.MakeFolder(filepath.Dir(at), 0o700); err != nil {
		return "", err
	}
	return at, durable.WriteFile(at, data, 0o600)
}

// lay writes the files below with.files into the tree, at with.to, under the paths that they
// have there.
func (j *builtinAttempt) lay(ctx context.Context, tree git.Tree) error {
	from, to := j.it.Task.With["files"], path.Clean("/" + j.it.Task.With["to"])[1:]
	if from == "" {
		return nil
	}
	root, err := os.OpenRoot(tree.Dir)
	if err != nil {
		return durable.Failure("open", gateTree, err)
	}
	defer root.Close()
	for _, in := range j.it.Inputs {
		name, ok := strings.CutPrefix(in.Path, from+"/")
		if !ok {
			continue
		}
		at := path.Join(to, name)
		// Git reads programs to run there, and no sandbox confines our git or that of the user.
		if slices.ContainsFunc(strings.Split(at, "/"), files.IsGit) {
			return fault.New(fault.OutputInvalid, "%s would become %s in the tree, which is git's own", in.Path, at).
				WithHint("its worker must leave it out, or put it elsewhere")
		}
		data, err := j.orchestrator.Fetch(ctx, j.it.ID, in.SHA256)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(at), 0o777); err != nil {
			return durable.Failure("make the folder of", at, err)
		}
		if err := root.WriteFile(at, data, 0o666); err != nil {
			return durable.Failure("write", at, err)
		}
	}
	return nil
}

// actingFile returns the first file of a patch that other programs would execute or obey unasked in
// the tree; empty if there is none. Attributes of git run nothing by themselves.
func actingFile(ctx context.Context, tree git.Tree, patch []byte) (string, error) {
	names, err := git.PatchedFiles(ctx, tree, patch)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.EqualFold(path.Base(name), ".gitattributes") })
	return sandbox.FirstActing(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(tree.Dir, filepath.FromSlash(name)))
		return err == nil
	}), err
}

// merge applies the patches among the inputs. What does not fit is an issue, until the
// fix of that issue fits.
func (j *builtinAttempt) merge(ctx context.Context, tree git.Tree) ([]Issue, error) {
	var issues []Issue
	mended := map[string]bool{} // ids of issues whose fix was applied
	for _, in := range j.it.Inputs {
		if from := j.it.Task.With["files"]; path.Ext(in.Path) != ".patch" || from != "" && strings.HasPrefix(in.Path, from+"/") {
			continue
		}
		patch, err := j.orchestrator.Fetch(ctx, j.it.ID, in.SHA256)
		if err != nil {
			return nil, err
		}
		who := strings.TrimSuffix(strings.TrimSuffix(in.Path, ".patch"), "/changes") // the item that made it
		var conflicts []string
		acting, err := actingFile(ctx, tree, patch)
		if err == nil && acting == "" {
			conflicts, err = git.Apply(ctx, tree, patch)
		}
		switch {
		case acting != "":
			issues = append(issues, Issue{Gate: j.it.Worker, Severity: Error, Code: "PATCH_ACTS",
				Message: "what " + who + " changed is left out: other programs execute or obey files of this name unasked", Files: []string{acting}, Rule: in.Path,
				Fix: "make it again without " + acting})
		case fault.Is(err, fault.InvalidText):
			issues = append(issues, Issue{Gate: j.it.Worker, Severity: Error, Code: "PATCH_INVALID",
				Message: "what " + who + " changed cannot be read as a patch", Rule: in.Path, Fix: "make it again"})
		case err != nil:
			return nil, err
		case len(conflicts) > 0:
			issues = append(issues, Issue{Gate: j.it.Worker, Severity: Error, Code: "PATCH_CONFLICT",
				Message: "what " + who + " changed does not fit what others changed in the same files", Files: conflicts, Rule: in.Path,
				Fix: "write into these files what it wanted to change: " + in.Path})
		default:
			if len(bytes.TrimSpace(patch)) > 0 {
				mended[strings.TrimSuffix(path.Base(in.Path), ".patch")] = true // if it is the fix of an issue
			}
		}
	}
	return slices.DeleteFunc(issues, func(i Issue) bool { return mended[IssueID(i)] }), nil
}

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

// keyOf returns the key in the text of a commit.
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

// text returns a text of the pull request: as with says, or an input of that name; empty where
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
	at := slices.IndexFunc(j.it.Task.Outputs, func(o Output) bool { return strings.HasSuffix(o.Path, "/**") })
	if at < 0 {
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
	out.Bundle = strings.TrimSuffix(j.it.Task.Outputs[at].Path, "**") + "branch.bundle"
	if contents["*.json"], err = encodeBuiltin(out); err != nil {
		return Result{}, err
	}
	r, err := j.result(contents)
	r.PR = out.Bundle
	return r, err
}

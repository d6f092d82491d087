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

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/files"
	"ramet/internal/files/git"
	"ramet/internal/launch/sandbox"
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

package builtin

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/git"
	"ramet/internal/runner"
)

// inputs is artifacts/inputs.json.
type inputs struct {
	Inputs []pinned `json:"inputs"`
	Base   string   `json:"base"`             // commit of work/base.bundle
	Source string   `json:"source,omitempty"` // commit of work/source.bundle, where the recipe asks for it
}

type pinned struct {
	Name   string `json:"name"` // repo or into
	Commit string `json:"commit"`
}

func (in inputs) commit(name string) string {
	for _, p := range in.Inputs {
		if p.Name == name {
			return p.Commit
		}
	}
	return ""
}

// target is the repository that is written to: into if it is given.
func (in inputs) target() pinned { return in.Inputs[len(in.Inputs)-1] }

const (
	inputsFile = "artifacts/inputs.json"
	bundleFile = "work/base.bundle"
	sourceFile = "work/source.bundle" // the files of repo, also where into is another repository
	treeFolder = "work/tree"
)

// clone makes work/repo, work/into and work/base.bundle. With: repo, into; commit and
// into_commit pin them; branch is the one that will be written, and must be free.
func (j *attempt) clone(ctx context.Context) (runner.Result, error) {
	// What this run pinned before stays.
	before, err := j.pins()
	if err != nil {
		return runner.Result{}, err
	}
	names := []string{"repo"}
	if j.value("into") != "" {
		names = append(names, "into")
	}
	var in inputs
	var clones []runner.Clone
	var issues []runner.Issue
	for _, name := range names {
		address := j.value(name)
		if address == "" {
			return runner.Result{}, fault.New(fault.Usage, "there is no repository to clone").WithHint("name one with --repo")
		}
		from, _, _, err := j.remote(address)
		if err != nil {
			return runner.Result{}, err
		}
		pin := cmp.Or(before.commit(name), j.value(map[string]string{"repo": "commit", "into": "into_commit"}[name]))
		c, err := git.Clone(ctx, from, j.at("work/"+name), pin)
		if err != nil {
			return runner.Result{}, err
		}
		in.Inputs = append(in.Inputs, pinned{name, c.Commit})
		clones = append(clones, runner.Clone{Name: name, URL: from.String(), Commit: c.Commit})
		issues = append(issues, left(name, c)...)
	}
	target := in.target()
	if in.Base, err = git.Bundle(ctx, git.Tree{Dir: j.at("work/" + target.Name)}, target.Commit, j.at(bundleFile)); err != nil {
		return runner.Result{}, err
	}
	if branch := j.value("branch"); branch != "" {
		if err := j.free(ctx, target, branch, in.Base); err != nil {
			return runner.Result{}, err
		}
	}
	made := map[string][]byte{}
	if slices.ContainsFunc(j.it.Task.Outputs, func(o runner.Output) bool { return o.Path == sourceFile }) {
		if in.Source, err = git.Bundle(ctx, git.Tree{Dir: j.at("work/repo")}, in.commit("repo"), j.at(sourceFile)); err != nil {
			return runner.Result{}, err
		}
		if made["source.bundle"], err = os.ReadFile(j.at(sourceFile)); err != nil {
			return runner.Result{}, durable.Failure("read", sourceFile, err)
		}
	}
	list, err := encode(in)
	if err != nil {
		return runner.Result{}, err
	}
	bundle, err := os.ReadFile(j.at(bundleFile))
	if err != nil {
		return runner.Result{}, durable.Failure("read", bundleFile, err)
	}
	made["inputs.json"], made["base.bundle"] = list, bundle
	r, err := j.result(made)
	r.Clones, r.Issues = clones, issues
	return r, err
}

// pins are the commits of the run, if it has any yet.
func (j *attempt) pins() (inputs, error) {
	var in inputs
	data, err := os.ReadFile(j.at(inputsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err != nil {
		return in, durable.Failure("read", inputsFile, err)
	}
	return in, decode(data, &in)
}

// left are warnings about what is not in a clone.
func left(name string, c git.Cloned) []runner.Issue {
	var out []runner.Issue
	if c.Dirty {
		out = append(out, runner.Issue{Gate: "clone", Severity: runner.Warn, Code: "NOT_COMMITTED",
			Message: "changes in " + name + " that are not committed are left out", Fix: "commit them and start another run, if they matter"})
	}
	if len(c.Submodules) > 0 {
		out = append(out, runner.Issue{Gate: "clone", Severity: runner.Warn, Code: "SUBMODULES",
			Message: "submodules of " + name + " are left out: " + strings.Join(c.Submodules, ", ")})
	}
	return out
}

// free refuses a branch that somebody else has, before work is spent on it.
func (j *attempt) free(ctx context.Context, target pinned, branch, base string) error {
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
	return taken(to, branch)
}

func taken(to git.Remote, branch string) error {
	return fault.New(fault.Conflict, "%s has a branch %s already, and it is not of this work", to, branch).
		WithHint("choose another with --set branch=NAME, or remove that one there")
}

// restore makes sure that the clones and the bundle are there, as they were pinned.
func (j *attempt) restore(ctx context.Context) (inputs, error) {
	in, err := j.pins()
	if slices.ContainsFunc(j.it.Inputs, func(i runner.Input) bool { return i.Path == inputsFile }) {
		in = inputs{}
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
		err = fault.New(fault.Conflict, "the files at %s are not those that this run began with", target.Commit)
	}
	return in, err
}

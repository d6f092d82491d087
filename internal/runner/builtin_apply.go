package runner

import (
	"bytes"
	"context"
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

// apply is the one writer. It makes work/tree anew: the base, the patches among the inputs in
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
	tree := git.Tree{Dir: j.at(treeFolder)}
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
		return durable.Failure("open", treeFolder, err)
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
		if err := writeBelow(root, at, data); err != nil {
			return err
		}
	}
	return nil
}

// writeBelow writes a file below a folder, which no link leads out of.
func writeBelow(root *os.Root, file string, data []byte) error {
	if err := root.MkdirAll(path.Dir(file), 0o777); err != nil {
		return durable.Failure("make the folder of", file, err)
	}
	if err := root.WriteFile(file, data, 0o666); err != nil {
		return durable.Failure("write", file, err)
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
		who := patchAuthor(in.Path)
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

// patchAuthor names the item that made a patch, by its path.
func patchAuthor(at string) string {
	return strings.TrimSuffix(strings.TrimSuffix(at, ".patch"), "/changes")
}

package builtin

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"ramet/internal/docs"
	"ramet/internal/docs/pages"
	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/git"
	"ramet/internal/runner"
)

// fixesFolder holds what fixes changed, by the id of their issue.
const fixesFolder = "drafts/fixes/"

// apply is the one writer. It makes work/tree anew: the base, the patches of the drafts
// and of the fixes in the order of the item's inputs, then markers become citations, and
// links are added.
func (j *attempt) apply(ctx context.Context) (runner.Result, error) {
	in, err := j.restore(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	var plan docs.Plan
	var found docs.Facts
	if err := errors.Join(j.read(ctx, "plan.json", &plan), j.read(ctx, "facts.json", &found)); err != nil {
		return runner.Result{}, err
	}
	tree := git.Tree{Dir: j.at(treeFolder)}
	if err := git.FromBundle(ctx, j.at(bundleFile), in.Base, tree); err != nil {
		return runner.Result{}, err
	}
	issues, err := j.merge(ctx, tree)
	if err != nil {
		return runner.Result{}, err
	}
	composed, err := j.compose(ctx, tree, in.Base, plan)
	if err != nil {
		return runner.Result{}, err
	}
	for _, p := range composed.Problems {
		issues = append(issues, runner.Issue{Gate: j.it.Worker, Severity: runner.Error, Code: "CLAIM_MARKER", Message: p.Message,
			Files: []string{p.Path}, Line: p.Line})
	}
	patch, err := git.Diff(ctx, tree)
	if err != nil {
		return runner.Result{}, err
	}
	changed, err := git.Changed(ctx, tree, in.Base)
	if err != nil {
		return runner.Result{}, err
	}
	citations, err := docs.Encode(composed.Citations)
	if err != nil {
		return runner.Result{}, err
	}
	r, err := j.result(map[string][]byte{"docs.patch": patch, "citations.json": citations,
		"body.md": pages.Body(plan, found, composed.Citations, changed)})
	r.Issues = issues
	return r, err
}

// merge applies the patches among the inputs. What does not fit is an issue, until the
// fix of that issue fits.
func (j *attempt) merge(ctx context.Context, tree git.Tree) ([]runner.Issue, error) {
	var issues []runner.Issue
	mended := map[string]bool{} // ids of issues whose fix was applied
	for _, in := range j.it.Inputs {
		if !strings.HasPrefix(in.Path, "drafts/") || path.Ext(in.Path) != ".patch" {
			continue
		}
		patch, err := j.orchestrator.Fetch(ctx, j.it.ID, in.SHA256)
		if err != nil {
			return nil, err
		}
		conflicts, err := git.Apply(ctx, tree, patch)
		who := author(in.Path)
		switch {
		case fault.Is(err, fault.InvalidText):
			issues = append(issues, runner.Issue{Gate: j.it.Worker, Severity: runner.Error, Code: "PATCH_INVALID",
				Message: "what " + who + " changed cannot be read as a patch", Fix: "write the pages again"})
		case err != nil:
			return nil, err
		case len(conflicts) > 0:
			issues = append(issues, runner.Issue{Gate: j.it.Worker, Severity: runner.Error, Code: "PATCH_CONFLICT",
				Message: "what " + who + " changed does not fit what others changed in the same files", Files: conflicts,
				Fix: "write into these files what it wanted to change: " + in.Path})
		default:
			if id, ok := strings.CutPrefix(in.Path, fixesFolder); ok && len(bytes.TrimSpace(patch)) > 0 {
				mended[strings.TrimSuffix(id, ".patch")] = true
			}
		}
	}
	return slices.DeleteFunc(issues, func(i runner.Issue) bool { return mended[runner.IssueID(i)] }), nil
}

// author is who made a patch, by where it lies.
func author(at string) string {
	if id, ok := strings.CutPrefix(at, fixesFolder); ok {
		return "the fix " + strings.TrimSuffix(id, ".patch")
	}
	return "the draft " + path.Dir(strings.TrimPrefix(at, "drafts/"))
}

// compose makes published pages of the drafts in the tree.
func (j *attempt) compose(ctx context.Context, tree git.Tree, base string, plan docs.Plan) (pages.Composed, error) {
	changed, err := git.Changed(ctx, tree, base)
	if err != nil {
		return pages.Composed{}, err
	}
	wanted := map[string]bool{pages.Index(plan): true}
	for _, s := range plan.Sections {
		for _, p := range s.Pages {
			wanted[p.Path] = true
		}
	}
	for _, file := range changed {
		if ext := strings.ToLower(path.Ext(file)); ext == ".md" || ext == ".markdown" {
			wanted[file] = true
		}
	}
	root, err := os.OpenRoot(tree.Dir)
	if err != nil {
		return pages.Composed{}, durable.Failure("open", treeFolder, err)
	}
	defer root.Close()
	drafts := map[string][]byte{}
	for file := range wanted {
		if !fs.ValidPath(file) {
			continue
		}
		if info, err := root.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue // a page that nobody wrote: the gates say so
		}
		if drafts[file], err = root.ReadFile(file); err != nil {
			return pages.Composed{}, durable.Failure("read", file, err)
		}
	}
	out := pages.Compose(drafts, plan)
	for _, file := range slices.Sorted(maps.Keys(out.Pages)) {
		if old, ok := drafts[file]; ok && bytes.Equal(old, out.Pages[file]) {
			continue
		}
		if err := root.MkdirAll(path.Dir(file), 0o777); err != nil {
			return out, durable.Failure("make the folder of", file, err)
		}
		if err := root.WriteFile(file, out.Pages[file], 0o666); err != nil {
			return out, durable.Failure("write", file, err)
		}
	}
	return out, nil
}

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
	"ramet/internal/git"
	"ramet/internal/runner"
)

// pagesFolder is where pages are put together.
const pagesFolder = "work/pages"

// compose puts the pages of the documentation together: the base, the patches of the drafts
// and of the fixes in the order of the item's inputs, then markers become citations, and
// links are added.
func (j *attempt) compose(ctx context.Context) (runner.Result, error) {
	in, err := j.restore(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	var plan docs.Plan
	var found docs.Facts
	if err := errors.Join(j.read(ctx, "plan.json", &plan), j.read(ctx, "facts.json", &found)); err != nil {
		return runner.Result{}, err
	}
	tree := git.Tree{Dir: j.at(pagesFolder)}
	if err := git.FromBundle(ctx, j.at(bundleFile), in.Base, tree); err != nil {
		return runner.Result{}, err
	}
	issues, err := j.merge(ctx, tree)
	if err != nil {
		return runner.Result{}, err
	}
	composed, err := j.publishable(ctx, tree, in.Base, plan)
	if err != nil {
		return runner.Result{}, err
	}
	for _, p := range composed.Problems {
		issues = append(issues, runner.Issue{Gate: j.it.Worker, Severity: runner.Error, Code: "CLAIM_MARKER", Message: p.Message,
			Files: []string{p.Path}, Line: p.Line, Rule: p.Message})
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
	title := "Documentation of " + strings.Join(strings.Fields(plan.Title), " ")
	r, err := j.result(map[string][]byte{"*.patch": patch, "citations.json": citations, "title.txt": []byte(title + "\n"),
		"body.md": pages.Body(plan, found, composed.Citations, changed)})
	r.Issues = issues
	return r, err
}

// publishable makes published pages of the drafts in the tree.
func (j *attempt) publishable(ctx context.Context, tree git.Tree, base string, plan docs.Plan) (pages.Composed, error) {
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
		return pages.Composed{}, durable.Failure("open", pagesFolder, err)
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
		if err := writeBelow(root, file, out.Pages[file]); err != nil {
			return out, err
		}
	}
	return out, nil
}

package forge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/files/git"
)

// Change is the content of a pull request.
type Change struct {
	Branch string
	Base   string // commit that it is made on
	Commit string // the last one of the branch
	Title  string
	Patch  []byte
	Body   []byte
}

// LocalFiles makes the files that replace a pull request where there is no forge, by name:
// branch.bundle, changes.patch, body.md and README, which explains how to apply them. They
// hold nothing but the change.
func LocalFiles(ctx context.Context, repo git.Tree, c Change) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "ramet-bundle-")
	if err != nil {
		return nil, durable.Failure("make a folder for", "the bundle", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "branch.bundle")
	if err := git.BundleRef(ctx, repo, "refs/heads/"+c.Branch, c.Commit, c.Base, file); err != nil {
		return nil, err
	}
	bundle, err := os.ReadFile(file)
	if err != nil {
		return nil, durable.Failure("read", file, err)
	}
	readme := fmt.Sprintf(`%s

This is a pull request as files.

branch.bundle   the branch %s, on top of commit %s
changes.patch   the same as a patch
body.md         what changed and why

To take over the branch, in a clone of the repository:

    git fetch PATH/branch.bundle %s:%s

Or the changes alone:

    git apply --index PATH/changes.patch

To go back before it is merged: git branch -D %s
`, c.Title, c.Branch, c.Base, c.Branch, c.Branch, c.Branch)
	return map[string][]byte{"branch.bundle": bundle, "changes.patch": c.Patch, "body.md": c.Body, "README": []byte(readme)}, nil
}

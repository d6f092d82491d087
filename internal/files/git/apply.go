package git

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Apply changes the tree as a patch says, by merging where a file is not what it was for
// the patch. Files that cannot be changed stay as they are and are named; the others are
// changed. What the tree holds already is no conflict. INVALID_TEXT: it is no patch.
func Apply(ctx context.Context, t Tree, patch []byte) (conflicts []string, err error) {
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil, nil
	}
	c, err := t.command()
	if err != nil {
		return nil, err
	}
	if err := t.stage(ctx, c, nil); err != nil {
		return nil, err
	}
	before, err := treeOf(ctx, c)
	if err != nil {
		return nil, err
	}
	c.In = patch
	files, err := patched(ctx, c)
	if err != nil {
		return nil, err
	}
	whole := complete(ctx, t, patch)
	if whole {
		if err = merge(ctx, c); err == nil {
			return nil, nil
		} else if failure(err) {
			return nil, restore(context.WithoutCancel(ctx), c, before, err)
		}
	}
	// Something is in the way. Each file by itself, so that one does not keep the others.
	for _, file := range files {
		if err := restore(ctx, c, before, nil); err != nil {
			return nil, err
		}
		only := "--include=" + escape(file)
		if !whole && applied(ctx, c, only) {
			continue
		}
		if err = merge(ctx, c, only); failure(err) {
			return nil, restore(context.WithoutCancel(ctx), c, before, err)
		} else if err == nil {
			if before, err = treeOf(ctx, c); err != nil {
				return nil, err
			}
			continue
		}
		if err := restore(ctx, c, before, nil); err != nil {
			return nil, err
		}
		if !applied(ctx, c, only) {
			conflicts = append(conflicts, file)
		}
	}
	return conflicts, restore(ctx, c, before, nil)
}

// applied reports whether the tree holds what a patch makes of a file.
func applied(ctx context.Context, c Command, only string) bool {
	_, err := c.Run(ctx, "apply", "--reverse", "--check", "--cached", "--whitespace=nowarn", only)
	return err == nil
}

// restore puts a tree back into the folder, and passes on why.
func restore(ctx context.Context, c Command, tree string, why error) error {
	c.In = nil
	if _, err := c.Run(ctx, "read-tree", "--reset", "-u", tree); why == nil {
		return err
	}
	return why
}

// ApplyTo returns the tree that comes out when a patch is applied to a commit exactly as it
// is; no file is touched. CONFLICT: it does not fit.
func ApplyTo(ctx context.Context, t Tree, commit string, patch []byte) (tree string, err error) {
	err = t.aside(ctx, commit, func(c Command) error {
		if len(bytes.TrimSpace(patch)) > 0 {
			c.In = patch
			if _, err := c.Run(ctx, "apply", "--cached", "--whitespace=nowarn"); failure(err) {
				return err
			} else if err != nil {
				return fault.New(fault.Conflict, "the patch does not fit %.12s: %w", commit, err)
			}
			c.In = nil
		}
		tree, err = treeOf(ctx, c)
		return err
	})
	return tree, err
}

// CommitTree makes a commit of a tree on top of another, in the name of an identity.
func CommitTree(ctx context.Context, t Tree, by Identity, tree, parent, message string, date time.Time) (string, error) {
	return writeBy(ctx, t, by, tree, message, date, parent)
}

// PatchedFiles returns the files that a patch changes, by their paths in the tree. A text that is no
// patch is INVALID_TEXT.
func PatchedFiles(ctx context.Context, t Tree, patch []byte) ([]string, error) {
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil, nil
	}
	c, err := t.command()
	if err != nil {
		return nil, err
	}
	c.In = patch
	return patched(ctx, c)
}

// merge applies what c has as its input.
func merge(ctx context.Context, c Command, args ...string) error {
	_, err := c.Run(ctx, append([]string{"-c", "merge.conflictStyle=merge", "apply", "--3way", "--index", "--whitespace=nowarn"}, args...)...)
	return err
}

// failure reports whether git did not get as far as to say no to a patch.
func failure(err error) bool {
	return err != nil && (!fault.Is(err, fault.Failed) || !said(err, ""))
}

// patched lists the files of a patch.
func patched(ctx context.Context, c Command) ([]string, error) {
	out, err := c.Run(ctx, "apply", "--numstat", "-z")
	if failure(err) {
		return nil, err
	} else if err != nil {
		return nil, fault.New(fault.InvalidText, "the patch cannot be read: %w", err)
	}
	var files []string
	for _, entry := range Fields(out) { // added, deleted, path
		if parts := strings.SplitN(entry, "\t", 3); len(parts) == 3 && parts[2] != "" {
			files = append(files, parts[2])
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

var preimage = text.Regexp(`(?m)^index ([0-9a-f]{40,64})\.\.[0-9a-f]{40,64}`)

// complete reports whether everything that a patch was made from is in the repository. Only
// then can git merge, and know what is applied already.
func complete(ctx context.Context, t Tree, patch []byte) bool {
	c, err := t.command()
	if err != nil {
		return false
	}
	for _, m := range preimage().FindAllSubmatch(patch, -1) {
		if strings.Trim(string(m[1]), "0") != "" {
			c.In = append(append(c.In, m[1]...), '\n')
		}
	}
	out, err := c.Run(ctx, "cat-file", "--batch-check")
	return err == nil && !strings.Contains(out, " missing")
}

// escape makes a pattern of a path that fits nothing else.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

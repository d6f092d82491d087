package git

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
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

// Tree is a folder of files and the repository that it is compared with. Where a process
// else writes into the folder, the repository lies elsewhere, so that they cannot tell
// git what to do.
type Tree struct {
	Dir string // the files
	Git string // the repository; empty: .git in Dir
}

func (t Tree) git() string {
	if t.Git != "" {
		return t.Git
	}
	return filepath.Join(t.Dir, ".git")
}

// command returns git in the tree. Everything is named, so that git looks for nothing.
func (t Tree) command() (Command, error) {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.Dir, err)
	}
	repo, err := filepath.Abs(t.git())
	if err != nil {
		return Command{}, fault.New(fault.StorageIO, "find %s: %w", t.git(), err)
	}
	return Command{Dir: dir, Env: []string{"GIT_DIR=" + repo, "GIT_WORK_TREE=" + dir}}, nil
}

// Run runs git in the tree.
func (t Tree) Run(ctx context.Context, args ...string) (string, error) {
	c, err := t.command()
	if err != nil {
		return "", err
	}
	return c.Run(ctx, args...)
}

// attributes switches off what .gitattributes of a repository can ask for: other bytes,
// programs, and another way to merge.
const attributes = "* -text !eol !crlf !ident !filter !working-tree-encoding !diff !merge !conflict-marker-size !whitespace\n"

// make makes an empty repository. ids have the length of commit. Without links they are
// plain files that hold their target, so that nothing is read or written through them.
func (t Tree) make(ctx context.Context, commit string, links bool) error {
	for _, dir := range []string{t.Dir, t.git()} {
		if err := durable.MakeFolder(dir, 0o700); err != nil {
			return err
		}
	}
	if _, err := Run(ctx, t.git(), "init", "--quiet", "--bare", "--template=", "--initial-branch=base", "--object-format="+format(commit), "."); err != nil {
		return err
	}
	settings := [][2]string{{"core.bare", "false"}, {"core.autocrlf", "false"}, {"core.protectHFS", "true"}, {"core.protectNTFS", "true"},
		{"core.logAllRefUpdates", "false"}}
	if !links {
		settings = append(settings, [2]string{"core.symlinks", "false"})
	}
	for _, pair := range settings {
		if _, err := t.Run(ctx, "config", pair[0], pair[1]); err != nil {
			return err
		}
	}
	info := filepath.Join(t.git(), "info")
	if err := durable.MakeFolder(info, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "attributes"), []byte(attributes), 0o600); err != nil {
		return durable.Failure("write", filepath.Join(info, "attributes"), err)
	}
	return nil
}

// format returns how objects are named in the repository of a commit.
func format(commit string) string {
	if len(commit) == 64 {
		return "sha256"
	}
	return "sha1"
}

// Head returns the commit that the tree stands on.
func Head(ctx context.Context, t Tree) (string, error) {
	out, err := t.Run(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// Has reports whether a commit is in the repository.
func Has(ctx context.Context, t Tree, commit string) bool {
	_, err := t.Run(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// Behind reports whether a commit is in the history of another, or is that one.
func Behind(ctx context.Context, t Tree, commit, other string) bool {
	_, err := t.Run(ctx, "merge-base", "--is-ancestor", commit, other)
	return err == nil
}

// Reset makes the tree what a commit holds: changed files are as they were, others are
// gone. It also undoes what an interrupted command left.
func Reset(ctx context.Context, t Tree, commit string) error {
	if err := CheckCommit(commit); err != nil {
		return err
	}
	if err := durable.MakeFolder(t.Dir, 0o700); err != nil {
		return err
	}
	// The index is a cache: without it, a lock that a killed git left is of no matter.
	for _, name := range []string{"index.lock", "HEAD.lock", "index"} {
		if err := os.Remove(filepath.Join(t.git(), name)); err != nil && !os.IsNotExist(err) {
			return durable.Failure("remove", name, err)
		}
	}
	if _, err := t.Run(ctx, "update-ref", "--no-deref", "HEAD", commit); err != nil {
		return err
	}
	if _, err := t.Run(ctx, "read-tree", "--reset", "-u", commit); err != nil {
		return err
	}
	_, err := t.Run(ctx, "clean", "-ffdxq")
	return err
}

// CheckCommit refuses what is no full id of a commit: INVALID_ID.
func CheckCommit(commit string) error {
	if (len(commit) == 40 || len(commit) == 64) && strings.Trim(commit, "0123456789abcdef") == "" {
		return nil
	}
	return fault.New(fault.InvalidID, "%.80q is not a full commit id", commit).WithHint("give all 40 characters of it: `git rev-parse NAME`")
}

// Diff returns what was changed in the tree since its commit, with new and deleted files, as
// a patch that Apply takes. The files without, what the repository ignores and what is in
// submodules is not in it. Empty: nothing was changed. OUTPUT_INVALID: there is another
// repository in the folder, which no patch can hold.
func Diff(ctx context.Context, t Tree, without ...string) ([]byte, error) {
	var out string
	err := t.staged(ctx, without, func(c Command) (err error) {
		out, err = c.Run(ctx, append([]string{"diff", "--cached"}, append(plain, "HEAD")...)...)
		return err
	})
	return []byte(out), err
}

// plain makes patches that depend on nothing but the files.
var plain = []string{"--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-indent-heuristic",
	"--diff-algorithm=myers", "--unified=3", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all"}

// Changed lists the files that differ from a commit, sorted.
func Changed(ctx context.Context, t Tree, base string) ([]string, error) {
	if err := CheckCommit(base); err != nil {
		return nil, err
	}
	var out string
	err := t.staged(ctx, nil, func(c Command) (err error) {
		out, err = c.Run(ctx, "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", base)
		return err
	})
	return Fields(out), err
}

// Commit writes down everything that is not ignored, in the name of ramet, and stands on
// the new commit. Where nothing was changed it is the commit that there is.
func Commit(ctx context.Context, t Tree, message string, date time.Time) (string, error) {
	head, err := Head(ctx, t)
	if err != nil {
		return "", err
	}
	c, err := t.command()
	if err != nil {
		return "", err
	}
	if err := t.stage(ctx, c, nil); err != nil {
		return "", err
	}
	now, err := treeOf(ctx, c)
	if err != nil {
		return "", err
	}
	before, err := t.Run(ctx, "rev-parse", "--verify", head+"^{tree}")
	if err != nil || strings.TrimSpace(before) == now {
		return head, err
	}
	commit, err := write(ctx, t, now, message, date, head)
	if err != nil {
		return "", err
	}
	_, err = t.Run(ctx, "update-ref", "--no-deref", "HEAD", commit)
	return commit, err
}

func treeOf(ctx context.Context, c Command) (string, error) {
	out, err := c.Run(ctx, "write-tree")
	return strings.TrimSpace(out), err
}

// staged gives a git with an index of its own that holds what is in the folder.
func (t Tree) staged(ctx context.Context, without []string, do func(Command) error) error {
	return t.aside(ctx, "HEAD", func(c Command) error {
		if err := t.stage(ctx, c, without); err != nil {
			return err
		}
		return do(c)
	})
}

// aside gives a git with an index of its own that holds a tree.
func (t Tree) aside(ctx context.Context, tree string, do func(Command) error) error {
	c, err := t.command()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.git(), "aside-")
	if err != nil {
		return durable.Failure("make a folder in", t.git(), err)
	}
	defer os.RemoveAll(dir)
	index, err := filepath.Abs(filepath.Join(dir, "index"))
	if err != nil {
		return durable.Failure("find", dir, err)
	}
	c.Env = append(c.Env, "GIT_INDEX_FILE="+index)
	if _, err := c.Run(ctx, "read-tree", tree); err != nil {
		return err
	}
	return do(c)
}

// stage puts what is in the folder into the index. It is not `git add`, which would run
// git inside of submodules, with the configuration found there.
func (t Tree) stage(ctx context.Context, c Command, without []string) error {
	known, err := c.Run(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	others, err := c.Run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var gone, there strings.Builder
	for _, entry := range Fields(known) {
		mode, path, ok := strings.Cut(entry, "\t")
		switch {
		case !ok || strings.HasPrefix(mode, "160000 ") || slices.Contains(without, path): // a submodule stays what it is
		case t.holds(path):
			there.WriteString(path + "\x00")
		default:
			gone.WriteString(path + "\x00")
		}
	}
	for _, path := range Fields(others) {
		if strings.HasSuffix(path, "/") {
			return fault.New(fault.OutputInvalid, "the worktree contains a git repository at %s, which can't be part of a patch", path).
				WithHint("leave no .git folder behind")
		}
		if !slices.Contains(without, path) && t.holds(path) {
			there.WriteString(path + "\x00")
		}
	}
	c.In = []byte(gone.String())
	if _, err := c.Run(ctx, "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return err
	}
	c.In = []byte(there.String())
	_, err = c.Run(ctx, "update-index", "-z", "--add", "--replace", "--stdin")
	return err
}

// holds reports whether there is a file or a link at a path, and no link on the way to it.
func (t Tree) holds(path string) bool {
	at := t.Dir
	parts := strings.Split(path, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		last := i == len(parts)-1
		if err != nil || !last && !info.IsDir() || last && !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			return false
		}
	}
	return true
}

// ChangedBetween lists the files that differ between two commits, sorted.
func ChangedBetween(ctx context.Context, t Tree, from, to string) ([]string, error) {
	out, err := t.Run(ctx, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all", from, to)
	return Fields(out), err
}

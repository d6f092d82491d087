// Package git runs the git command with everything of a repository switched off, and
// does with it what runs need: clones at pinned commits, bundles, patches, branches.
//
// It promises:
//
//   - Nothing of a repository is executed: no hook, no filter, no merge driver, no
//     monitor, no program that its configuration names. Variables GIT_… count for
//     nothing, nor do keys in the environment.
//   - Bytes depend on commits alone. The user's configuration has a say only in how
//     another repository is reached: certificates, proxies, ssh, credential helpers.
//   - Another repository is asked only where a Remote is named, by the protocols of that
//     Remote. Git never waits for input.
//   - A token is in the environment of one git and nowhere else: not in arguments,
//     URLs, configuration or faults, and no hook sees it.
//   - In a repository made here files have the bytes of their blobs: no line ends are
//     changed, nothing is fetched for LFS or submodules. In trees made of bundles, where
//     others work, links are plain files that hold their target.
//   - What fails leaves no trace that matters: everything may be repeated.
//
// Git says what is wrong in its own words where nothing better is known.
package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// quiet keeps git from running anything of the repository's own, from waiting for
// a person, and from running on in the background.
var quiet = []string{
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.fsmonitor=false",
	"-c", "submodule.recurse=false",
	"-c", "merge.verifySignatures=false",
	"-c", "rerere.enabled=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
}

// alone keeps out the files of the user that git reads although they are no configuration,
// and writes names in patches as they are.
var alone = []string{
	"-c", "core.attributesFile=" + os.DevNull,
	"-c", "core.excludesFile=" + os.DevNull,
	"-c", "core.quotePath=false",
}

// Command describes how git is run. The zero value reads no configuration but the repository's
// and reaches no other repository.
type Command struct {
	Dir   string    // where
	In    []byte    // its standard input
	Out   io.Writer // takes its output, which Run then does not return
	Env   []string  // in addition to ours
	User  bool      // the user's own configuration counts
	Allow []string  // protocols by which other repositories may be reached
	Hide  []string  // values that no fault may show
}

// Run runs git in a folder and returns what it prints.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	return Command{Dir: dir}.Run(ctx, args...)
}

// Failed is a git that ended with an error.
type Failed struct {
	Exit   int
	Stderr string
}

func (f *Failed) Error() string { return f.Stderr }

// said finds out whether git ended with an error that holds one of these texts.
func said(err error, parts ...string) bool {
	f, ok := errors.AsType[*Failed](err)
	for _, part := range parts {
		if ok && strings.Contains(f.Stderr, part) {
			return true
		}
	}
	return false
}

// Run runs git and returns what it prints. An error is a fault around a *Failed where
// git itself ended with one.
func (c Command) Run(ctx context.Context, args ...string) (string, error) {
	all := append([]string{"-C", c.Dir}, quiet...)
	if !c.User {
		all = append(all, alone...)
	}
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Git, Project: c.Dir, Command: sandbox.Command{
		Args: slices.Concat([]string{"git"}, all, args), Umask: launch.UmaskOf(ctx),
		Env: append(environment(os.Environ(), c.User, c.Allow), c.Env...)}})
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "git is not installed, or not in PATH").WithHint("install git")
	}
	if err != nil {
		return "", err
	}
	// Git removes its lock files when it is asked to end, and not when it is killed.
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.In), &out, &complaint
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	if err = cmd.Run(); err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", fault.New(fault.Cancelled, "git %s: %w", verb(args), ctx.Err())
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", explain(verb(args), &Failed{ended.ExitCode(), c.hidden(strings.TrimSpace(complaint.String()))})
	}
	return "", fault.New(fault.Failed, "run git %s in %s: %w", verb(args), c.Dir, err)
}

// hidden takes out what a server may have echoed.
func (c Command) hidden(s string) string {
	if len(c.Hide) == 0 {
		return s
	}
	values := map[string]string{}
	for i, v := range c.Hide {
		values["token"+strings.Repeat("+", i)] = v
	}
	s = secret.New(values).Own(s)
	for _, v := range c.Hide { // also one that is too short for a redactor
		if v != "" {
			s = strings.ReplaceAll(s, v, "[redacted]")
		}
	}
	return s
}

// verb returns the first argument that is no setting.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// explain makes a fault of what git says.
func explain(what string, f *Failed) error {
	said := text.Line(strings.TrimPrefix(f.Stderr, "fatal: "), 500)
	if said == "" {
		said = "it says nothing"
	}
	switch {
	case strings.Contains(f.Stderr, "No space left on device"):
		return wrap(fault.StorageFull, "free some space and repeat", what, said, f)
	case strings.Contains(f.Stderr, ".lock': File exists"):
		return wrap(fault.Locked, "wait for the other git to end; if there is none, it died: remove that file", what, said, f)
	case strings.Contains(f.Stderr, "detected dubious ownership"):
		return wrap(fault.Denied, "the repository belongs to another user; git's safe.directory can permit it", what, said, f)
	}
	return wrap(fault.Failed, "", what, said, f)
}

func wrap(code fault.Code, hint, what, said string, cause error) error {
	f := fault.New(code, "git %s: %s", what, said)
	f.Err = cause
	if hint != "" {
		f = f.WithHint("%s", hint)
	}
	return f
}

// reach are the variables that say how another repository is reached. They count where
// one may be.
var reach = map[string]bool{"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_SSH_VARIANT": true, "GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true}

// environment returns what programs for a project get of ours, without what would lead git
// elsewhere, and in English. Where another repository may be reached, what is needed for
// it is there too.
func environment(env []string, user bool, allow []string) []string {
	if len(allow) > 0 {
		env = launch.ReachingVariables(env)
	} else {
		env = launch.EnvironmentFor(env)
	}
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		switch {
		case strings.HasPrefix(upper, "GIT_") && !(len(allow) > 0 && reach[upper]), upper == "LC_ALL", upper == "LANGUAGE":
			continue
		}
		out = append(out, pair)
	}
	out = append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=false",
		"GIT_NO_LAZY_FETCH=1")
	if !user {
		out = append(out, "GIT_NO_REPLACE_OBJECTS=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
	}
	if len(allow) == 0 {
		return append(out, "GIT_ALLOW_PROTOCOL=none") // none is not a protocol
	}
	return append(out, "GIT_ALLOW_PROTOCOL="+strings.Join(allow, ":"), "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
}

// Fields returns the texts between NULs.
func Fields(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

// Identity is in whose name a commit is made.
type Identity struct{ Name, Email string }

// ours is the identity for commits that nothing outside ramet sees.
var ours = Identity{"ramet", "ramet@localhost"}

// UserIdentity returns the user, as git is configured: in the repository, where it is a folder of
// this machine, and in the user's own files. Without both a name and an address it is ramet.
func UserIdentity(ctx context.Context, of Remote) Identity {
	var c Command
	c.User = true
	if of.Local() {
		c.Dir = of.Path()
	}
	read := func(key string) string {
		out, err := c.Run(ctx, "config", "--get", key)
		if err != nil && c.Dir != "" {
			out, err = Command{User: true}.Run(ctx, "config", "--global", "--get", key)
		}
		if err != nil {
			return ""
		}
		return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
			if r < 0x20 || r == '<' || r == '>' {
				return ' '
			}
			return r
		}, out)), " ")
	}
	user := Identity{read("user.name"), read("user.email")}
	if user.Name == "" || user.Email == "" {
		return ours
	}
	return user
}

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

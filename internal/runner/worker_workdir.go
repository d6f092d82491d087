package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/files/git"
	"ramet/internal/run/recipe"
	"ramet/internal/turn/loop"
)

// workdir is the folder of an item.
type workdir struct {
	pool *WorkerPool
	dir  string        // its folder; empty: it has none
	work string        // the worktree, or an empty folder; empty: it has none
	tree *itemWorktree // nil: no worktree
	// agent is in whose name a command runs.
	agent id.Agent
}

// makeWorkdir makes the folder of an item, if it needs one.
func (c *WorkerPool) makeWorkdir(ctx context.Context, it Attempt, d Orchestrator, needed bool) (p *workdir, err error) {
	p = &workdir{pool: c}
	if !needed {
		return p, nil
	}
	c.mu.Lock()
	c.folder++
	p.dir = filepath.Join(c.home, "items", strconv.Itoa(c.folder))
	c.mu.Unlock()
	p.work = filepath.Join(p.dir, "work")
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	if it.Task.Tree == nil {
		return p, durable.Failure("make folder", p.work, os.MkdirAll(p.work, 0o700))
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return p, durable.Failure("make folder", p.dir, err)
	}
	p.tree, err = c.makeWorktree(ctx, it, d, p.work)
	return p, err
}

// inputs returns the folder of a command's inputs, under their paths: next to its worktree, as
// they are no part of a patch.
func (p *workdir) inputs() string { return filepath.Join(p.dir, "inputs") }

// Shown returns what programs of items see besides their folders: the repositories of their worktrees, and Show.
func (c *WorkerPool) Shown() []string { return append(slices.Clone(c.Show), c.clones.dir) }

// supply puts the inputs there, but for those that the worktree was made of.
func (p *workdir) supply(ctx context.Context, it Attempt, d Orchestrator) error {
	for _, in := range it.Inputs {
		if t := it.Task.Tree; t != nil && (in.Path == t.Bundle || slices.Contains(t.Patches, in.Path)) {
			continue
		}
		if !filepath.IsLocal(filepath.FromSlash(in.Path)) {
			return fault.New(fault.InvalidRecipe, "%.200q is not a path of an input", in.Path)
		}
		data, err := fetchInput(ctx, it, d, in.Path)
		if err != nil {
			return err
		}
		file := filepath.Join(p.inputs(), filepath.FromSlash(in.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return durable.Failure("make folder", filepath.Dir(file), err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return durable.Failure("write", file, err)
		}
	}
	return nil
}

// remove leaves nothing of it.
func (p *workdir) remove() {
	if p.tree != nil {
		p.tree.removeWorktree()
	}
	if err := removeFolder(p.dir); err != nil { // it goes with the host's folder
		p.pool.kernel.Events.Publish(loop.Event{Type: loop.Note, Text: "something of an item is left: " + err.Error()})
	}
}

// fetchInput gets an input by its path, and checks that it is the one.
func fetchInput(ctx context.Context, it Attempt, d Orchestrator, path string) ([]byte, error) {
	sum, err := inputHash(it, path)
	if err != nil {
		return nil, err
	}
	data, err := d.Fetch(ctx, it.ID, sum)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fault.New(fault.Conflict, "input %s of item %s is not the file that was promised", path, it.ID)
	}
	return data, nil
}

func inputHash(it Attempt, path string) (string, error) {
	for _, in := range it.Inputs {
		if in.Path == path {
			return in.SHA256, nil
		}
	}
	return "", fault.New(fault.InvalidRecipe, "worker %s begins with %s, which is none of its inputs", it.Worker, path).
		WithHint("name it under inputs")
}

// itemWorktree is the worktree of an item.
type itemWorktree struct {
	clone *clone
	git.Tree
}

// makeWorktree makes a worktree: the commit of the bundle, and the patches on top of it. Files in
// which a patch does not fit stay as they are, as they do for the one writer.
func (c *WorkerPool) makeWorktree(ctx context.Context, it Attempt, d Orchestrator, dir string) (t *itemWorktree, err error) {
	from := it.Task.Tree
	if err := git.CheckCommit(from.Commit); err != nil {
		return nil, err
	}
	sum, err := inputHash(it, from.Bundle)
	if err != nil {
		return nil, err
	}
	bundle := func() ([]byte, error) { return fetchInput(ctx, it, d, from.Bundle) }
	made, err := c.clones.take(ctx, sum, from.Commit, bundle)
	if err != nil {
		return nil, err
	}
	t = &itemWorktree{clone: made, Tree: git.Tree{Dir: dir}}
	defer func() {
		if err != nil {
			t.removeWorktree()
			t = nil
		}
	}()
	if err = made.worktree(ctx, "add", "--quiet", "--detach", "--force", "--no-checkout", dir, from.Commit); err != nil {
		return t, err
	}
	// Found out before anybody works here: later nothing in the folder is believed.
	at, err := git.Run(ctx, dir, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return t, err
	}
	t.Git = filepath.FromSlash(strings.TrimSpace(at))
	if err = git.Reset(ctx, t.Tree, from.Commit); err != nil {
		return t, err
	}
	for _, path := range from.Patches {
		patch, err := fetchInput(ctx, it, d, path)
		if err != nil {
			return t, err
		}
		if _, err := git.Apply(ctx, t.Tree, patch); fault.Is(err, fault.InvalidText) {
			return t, fault.New(fault.Conflict, "patch %s does not apply to what item %s begins with: %w", path, it.ID, err)
		} else if err != nil {
			return t, err
		}
	}
	if len(from.Patches) == 0 {
		return t, nil
	}
	_, err = git.Commit(ctx, t.Tree, "what it begins with", time.Unix(0, 0))
	return t, err
}

// removeWorktree removes the worktree, also after the context ended.
func (t *itemWorktree) removeWorktree() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A failure leaves a note in the clone, which goes with it.
	t.clone.worktree(ctx, "remove", "--force", "--force", t.Dir)
	t.clone.give()
}

// clones are repositories made of bundles, by the hash of the bundle: the items of a run share one. Of those that are
// unused the last one stays.
type clones struct {
	dir string

	mu    sync.Mutex     // held while git changes a repository: it cannot do two changes at a time
	users map[string]int // of those that are there
}

// clone is one repository.
type clone struct {
	*clones
	sum, path string
}

// take finds the repository of a bundle, or makes it of what content gives. It is to be
// given back.
func (cs *clones) take(ctx context.Context, sum, commit string, content func() ([]byte, error)) (*clone, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := &clone{cs, sum, filepath.Join(cs.dir, sum+".git")}
	if _, there := cs.users[sum]; !there {
		if err := c.fill(ctx, commit, content); err != nil {
			removeFolder(c.path)
			return nil, err
		}
	}
	if cs.users == nil {
		cs.users = map[string]int{}
	}
	cs.users[sum]++
	return c, nil
}

// give gives a repository back.
func (c *clone) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users[c.sum]--
	for sum, users := range c.users {
		if users == 0 && sum != c.sum {
			delete(c.users, sum)
			removeFolder(filepath.Join(c.dir, sum+".git")) // if not: it goes with the host's folder
		}
	}
}

// worktree runs git worktree in the repository.
func (c *clone) worktree(ctx context.Context, args ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := git.Run(ctx, c.path, append([]string{"worktree"}, args...)...)
	return err
}

func (c *clone) fill(ctx context.Context, commit string, content func() ([]byte, error)) error {
	data, err := content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return durable.Failure("make folder", c.dir, err)
	}
	bundle := c.path + ".bundle"
	if err := os.WriteFile(bundle, data, 0o600); err != nil {
		return durable.Failure("write bundle", bundle, err)
	}
	defer os.Remove(bundle)
	return git.Unpack(ctx, bundle, commit, c.path)
}

// maxOutput is the largest output.
const maxOutput = 64 << 20

// collect gathers what an item made.
func (p *workdir) collect(ctx context.Context, it Attempt, said []byte) (Result, error) {
	var res Result
	var files, wrong []string
	for _, o := range it.Task.Outputs {
		if !o.Patch && !o.Answer {
			files = append(files, filesOf(p.work, o.Path)...)
		}
	}
	for _, o := range it.Task.Outputs {
		var data []byte
		var err error
		switch {
		case o.Patch && p.tree == nil:
			err = fault.New(fault.InvalidRecipe, "worker %s promises a patch and has no worktree", it.Worker).WithHint("give it one with worktree")
		case o.Patch:
			data, err = git.Diff(ctx, p.tree.Tree, files...) // new files included, outputs of their own left out
			if err == nil && len(data) == 0 && !o.Empty {
				err = fault.New(fault.OutputInvalid, "%s is missing: nothing was changed in the folder, and changes were asked for", o.Path)
			}
		case o.Answer:
			data, err = makeAnswer(o, said, it.Task.Command != "")
		case strings.HasSuffix(o.Path, "/**"):
			var below []Blob
			if below, err = readBelow(p.work, strings.TrimSuffix(o.Path, "/**")); err == nil {
				res.Files = append(res.Files, below...)
				continue
			}
		default:
			data, err = readOutput(p.work, o.Path)
		}
		if fault.Is(err, fault.OutputInvalid) {
			wrong = append(wrong, err.Error())
			continue
		}
		if err != nil {
			return res, err
		}
		res.Files = append(res.Files, Blob{Path: o.Path, Data: data})
	}
	return res, invalidOutputs(it, wrong)
}

// makeAnswer returns the answer as the content of a file.
func makeAnswer(o Output, said []byte, command bool) ([]byte, error) {
	if len(bytes.TrimSpace(said)) == 0 {
		if command {
			return nil, fault.New(fault.OutputInvalid, "%s is missing: the command printed nothing", o.Path)
		}
		return nil, fault.New(fault.OutputInvalid, "%s is missing: the last answer is empty", o.Path).WithHint("answer with its content")
	}
	if o.Schema != "" {
		said = stripFence(said)
	}
	return said, nil
}

// stripFence takes a Markdown fence from around a whole answer: models like to put one there.
func stripFence(said []byte) []byte {
	inner := bytes.TrimSpace(said)
	if !bytes.HasPrefix(inner, []byte("```")) || !bytes.HasSuffix(inner, []byte("\n```")) {
		return said
	}
	_, inner, ok := bytes.Cut(inner, []byte("\n"))
	if !ok {
		return said
	}
	inner = bytes.TrimSuffix(inner, []byte("```"))
	if bytes.Contains(inner, []byte("\n```")) {
		return said
	}
	return inner
}

// maxFiles limits the files of a folder that is an output.
const maxFiles = 10_000

// filesOf returns the files that an output means: itself, or all below its folder.
func filesOf(dir, output string) []string {
	folder, all := strings.CutSuffix(output, "/**")
	if !all || dir == "" {
		return []string{output}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var out []string
	fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) { // where a link leads is looked at
			out = append(out, name)
		}
		if len(out) > maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out
}

// readBelow reads all files below a folder, of which there must be one at least.
func readBelow(dir, folder string) ([]Blob, error) {
	if !filepath.IsLocal(filepath.FromSlash(folder)) || path.Clean(folder) != folder {
		return nil, fault.New(fault.InvalidRecipe, "%.200q is not a path of an output", folder)
	}
	names := filesOf(dir, folder+"/**")
	switch {
	case len(names) == 0:
		return nil, fault.New(fault.OutputInvalid, "%s/** is missing: there is no file below %s", folder, folder).WithHint("write at least one")
	case len(names) > maxFiles:
		return nil, fault.New(fault.OutputInvalid, "%s/** has more than %d files", folder, maxFiles)
	}
	var out []Blob
	for size := 0; len(out) < len(names); {
		data, err := readOutput(dir, names[len(out)])
		if err != nil {
			return nil, err
		}
		if size += len(data); size > 4*maxOutput {
			return nil, fault.New(fault.OutputInvalid, "%s/** is larger than %d MiB", folder, 4*maxOutput>>20)
		}
		out = append(out, Blob{Path: names[len(out)], Data: data})
	}
	return out, nil
}

// readOutput reads a file below a folder. Links that lead out of it are not followed.
func readOutput(dir, name string) ([]byte, error) {
	missing := func(why string) error {
		return fault.New(fault.OutputInvalid, "%s is missing: %s", name, why).WithHint("write the file %s", name)
	}
	if dir == "" || !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return nil, fault.New(fault.InvalidRecipe, "%.200q is not a path of an output", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, missing("the folder is gone")
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing("there is no such file")
	case err != nil:
		return nil, missing(text.Line(err.Error(), 200))
	case !info.Mode().IsRegular():
		return nil, missing("it is not a plain file")
	case info.Size() > maxOutput:
		return nil, fault.New(fault.OutputInvalid, "%s is larger than %d MiB", name, maxOutput>>20)
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, missing(text.Line(err.Error(), 200))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxOutput+1))
	if err != nil {
		return nil, missing(text.Line(err.Error(), 200))
	}
	return data, nil
}

// inspect holds what an item made against what it promised.
func (c *WorkerPool) inspect(it Attempt, res Result) error {
	var wrong []string
	for _, o := range it.Task.Outputs {
		made := false
		for _, f := range res.Files {
			if !recipe.CoversPath(o.Path, f.Path) {
				continue
			}
			made = true
			if o.Schema == "" || c.Form == nil {
				continue
			}
			if err := c.Form(o.Schema, f.Data); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", f.Path, err))
			}
		}
		if !made {
			wrong = append(wrong, o.Path+" is missing")
		}
	}
	return invalidOutputs(it, wrong)
}

// invalidOutputs returns the fault of outputs that are not as promised; all of them are named.
func invalidOutputs(it Attempt, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fault.New(fault.OutputInvalid, "%s %s did not make what it promised: %s", it.Worker, it.Scope, text.Safe(strings.Join(wrong, "; ")))
}

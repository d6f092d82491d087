package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/files"
	"ramet/internal/files/git"
)

// Merged reports the outcome of a merge.
type Merged struct {
	Into      string             // the folder, real path
	Branch    string             // where it came from; empty: no branch
	Commit    string             // the merge; empty: there was nothing to merge
	Commits   int                // that came over
	Files     []string           // that changed in the folder
	Committed bool               // the child had changes that were not committed, and now are
	Trashed   []files.TrashEntry // ignored files in the folder that were in its way
	// TreeTrashed holds what the trash calls the folder of the tree, if it was removed and held more
	// than git has.
	TreeTrashed string
}

// Merge brings the work of a tree into a folder of the same repository. What is
// not committed in the tree is committed first, in the name of label. CONFLICT, with
// the files, when both sides changed the same or the folder has changes in the way;
// then nothing changed there.
func (k Keeper) Merge(ctx context.Context, t Tree, into, label string) (Merged, error) {
	from, to, err := k.both(ctx, t, into)
	if err != nil {
		return Merged{}, err
	}
	if from.top == to.top {
		return Merged{}, fault.New(fault.Conflict, "%s cannot be merged into itself", to.top).
			WithHint("name another folder with --into")
	}
	var m Merged
	err = k.alone(ctx, func() (err error) {
		m, err = k.merge(ctx, from, to, label)
		return err
	})
	m.Branch = t.Branch
	return m, err
}

func (k Keeper) merge(ctx context.Context, from, to repo, label string) (Merged, error) {
	m := Merged{Into: to.top, Files: []string{}}
	before, err := compare(ctx, from, to)
	if err != nil {
		return m, err
	}
	for _, r := range []repo{from, to} {
		if err := r.atRest(ctx, from); err != nil {
			return m, err
		}
	}
	who, err := from.signature(ctx)
	if err != nil {
		return m, err
	}
	if before.Dirty {
		if err := from.commit(ctx, who, "ramet: work of "+label); err != nil {
			return m, err
		}
		m.Committed = true
	}
	there, err := from.head(ctx)
	if err != nil {
		return m, err
	}
	here, err := to.head(ctx)
	if err != nil {
		return m, err
	}
	if m.Commits, err = count(ctx, from, there, "^"+here); err != nil || m.Commits == 0 {
		return m, err
	}
	if m.Trashed, err = k.makeWay(ctx, to, here, there); err != nil {
		k.giveBack(m.Trashed)
		return m, err
	}
	if _, err := run(ctx, to.top, append(who, "merge", "--no-ff", "--commit", "--no-squash", "--no-autostash", "--no-edit",
		"--no-stat", "--quiet", "--no-verify", "--no-gpg-sign", "-m", "ramet: merge of "+label, there)...); err != nil {
		err = to.clash(ctx, err, there, label)
		if left := k.giveBack(m.Trashed); len(left) > 0 {
			err = fault.New(fault.CodeOf(err), "%w; %s is in the trash: `ramet trash restore %s`", err, left[0].Original(), left[0].TrashAct.ID)
		}
		return m, err
	}
	if m.Commit, err = to.head(ctx); err != nil {
		return m, err
	}
	out, err := run(ctx, to.top, "diff", "--name-only", "-z", "--no-ext-diff", here, m.Commit)
	m.Files = append(m.Files, git.Fields(out)...)
	return m, err
}

// commit writes down everything that is not ignored.
func (r repo) commit(ctx context.Context, who []string, message string) error {
	if err := r.stage(ctx); err != nil {
		return err
	}
	// Empty is allowed: what differs may be something that git cannot commit, such as
	// changes inside of a submodule.
	_, err := run(ctx, r.top, append(who, "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--allow-empty", "-m", message)...)
	return err
}

// atRest refuses a folder with a merge under way, left by a crash of ours, or the
// user's own; and one where another git is at work: ours would leave a merge half
// done.
func (r repo) atRest(ctx context.Context, from repo) error {
	lock := filepath.Join(r.git, "index.lock")
	if _, err := os.Lstat(lock); err == nil {
		return fault.New(fault.Locked, "another git works in %s", r.top).
			WithHint("wait for it to end; if there is none, it died: remove %s", lock)
	}
	coming, ok := r.merging()
	if !ok {
		return nil
	}
	what := "a merge is in progress in " + r.top
	if head, err := from.head(ctx); err == nil && head == coming {
		what = "a merge of the same work into " + r.top + " was interrupted"
	}
	return fault.New(fault.Conflict, "%s", what).
		WithHint("undo it with `git -C %s merge --abort`, or finish it with `git -C %s commit`, then repeat", r.top, r.top)
}

// clash undoes a merge that did not succeed, and says why it did not.
func (r repo) clash(ctx context.Context, cause error, coming, label string) error {
	ctx = context.WithoutCancel(ctx)
	if now, ok := r.merging(); ok && now == coming {
		files, err := run(ctx, r.top, "diff", "--name-only", "--diff-filter=U", "-z")
		if err == nil {
			_, err = run(ctx, r.top, "merge", "--abort")
		}
		if err != nil {
			return fault.New(fault.Conflict, "the merge of %s into %s stopped, and could not be undone: %w", label, r.top, err).
				WithHint("look at `git -C %s status`", r.top)
		}
		if fault.Is(cause, fault.Cancelled) || files == "" {
			return cause
		}
		return fault.New(fault.Conflict, "both %s and %s changed: %s", label, r.top, names(git.Fields(files))).
			WithHint("nothing was changed there; merge the other way round in the child's folder, resolve it there, and repeat")
	}
	f := (*git.Failed)(nil)
	if !errors.As(cause, &f) || !strings.Contains(f.Stderr, "would be overwritten by merge") {
		return cause
	}
	return fault.New(fault.Conflict, "changes in %s that are not committed are in the way of %s: %s", r.top, label, names(indented(f.Stderr))).
		WithHint("commit or stash them, then repeat; nothing was changed there")
}

// indented finds the files that git lists in its complaint.
func indented(complaint string) (files []string) {
	for line := range strings.SplitSeq(complaint, "\n") {
		if name := strings.TrimLeft(line, "\t "); name != "" && name != line {
			files = append(files, name)
		} else if _, list, ok := strings.Cut(line, "would be overwritten by merge: "); ok {
			files = append(files, list)
		}
	}
	return files
}

// names lists files, but not thousands.
func names(files []string) string {
	const most = 20
	if len(files) > most {
		files = append(files[:most:most], "…")
	}
	return strings.Join(files, ", ")
}

// acts are the local settings with which a repository names programs of its own.
var acts = []string{"filter.*.clean", "filter.*.smudge", "filter.*.process", "merge.*.driver"}

// mostProgram limits how large a file may be that such a setting names.
const mostProgram = 4 << 20

// Programs returns the source of the programs that git would run because the configuration of
// the repository says so; a folder that is in none has none. What the user's own
// configuration names is the user's.
func Programs(ctx context.Context) trust.Source {
	return trust.Source{Kind: trust.GitProgram, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		r, err := open(ctx, g.Dir())
		if fault.Is(err, fault.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return r.programs(ctx)
	}}
}

// programs finds them. The bytes that act are the command, and what the files of the
// repository hold that it names.
func (r repo) programs(ctx context.Context) ([]trust.Thing, error) {
	out, err := run(ctx, r.top, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return nil, err
	}
	ground, err := trust.Open(r.top)
	if err != nil {
		return nil, err
	}
	defer ground.Close()
	found := map[string][]string{} // a key may be set more than once
	all := git.Fields(out)
	for i := 0; i+1 < len(all); i += 2 {
		key, value, _ := strings.Cut(all[i+1], "\n")
		if scope := all[i]; (scope == "local" || scope == "worktree") && program(key) {
			found[key] = append(found[key], value)
		}
	}
	var things []trust.Thing
	for key, values := range found {
		t := trust.Thing{Kind: trust.GitProgram, Path: key, Does: "git runs it when files are checked out, committed or merged"}
		for _, v := range values {
			t.Data = append(t.Data, v+"\n"...)
			more, err := named(ground, v)
			if err != nil {
				return nil, err
			}
			t.Data = append(t.Data, more...)
		}
		things = append(things, t)
	}
	slices.SortFunc(things, func(a, b trust.Thing) int { return strings.Compare(a.Path, b.Path) })
	return things, nil
}

// program reports whether a setting names a program.
func program(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(acts, func(a string) bool {
		first, last, _ := strings.Cut(a, "*")
		return strings.HasPrefix(key, first) && strings.HasSuffix(key, last)
	})
}

// named returns a line for each file of the repository that a command names.
func named(ground *trust.Ground, command string) (string, error) {
	var b strings.Builder
	for _, word := range strings.Fields(command) {
		word = filepath.Clean(strings.Trim(word, `"';`))
		if !filepath.IsLocal(word) {
			continue
		}
		data, err := ground.Read(word, mostProgram)
		why := trust.Unfit("")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.As(err, &why):
			fmt.Fprintf(&b, "%s: %s\n", word, why)
		case err != nil:
			return "", err
		default:
			fmt.Fprintf(&b, "%s: sha256 %x\n", word, sha256.Sum256(data))
		}
	}
	return b.String(), nil
}

// harmless refuses a repository whose own configuration would run programs that no person
// accepted.
func (r repo) harmless(ctx context.Context, accepts func(trust.Thing) (bool, error)) error {
	things, err := r.programs(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, t := range things {
		ok := false
		if accepts != nil {
			if ok, err = accepts(t); err != nil {
				return err
			}
		}
		if !ok {
			found = append(found, t.Path)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fault.New(fault.Untrusted, "the configuration of %s names programs that git would run: %s", r.top, strings.Join(found, ", ")).
		WithHint("look at them; `ramet trust` lets them act")
}

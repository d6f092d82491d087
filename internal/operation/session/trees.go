package session

import (
	"context"
	"os"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/trust"
	"ramet/internal/files"
	"ramet/internal/files/git"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel/process"
)

// Keeper makes and removes worktrees, and Project is the folder of their repository: that of
// agent 0, wherever a command is given; agent 0 of a shared workspace may live on another
// host.
func (t Trees) Keeper(ctx context.Context) (k worktree.Keeper, project string, err error) {
	zero, err := t.ws.Store.Zero(ctx)
	if err != nil {
		return k, "", err
	}
	project = zero.Cwd
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		project = t.ws.Place.Project
	}
	accepts := trust.Gate{Home: t.ws.Home, Project: project}.Accepts
	k = worktree.Keeper{Dir: worktree.Folder(t.ws.Home, config.WorkspaceName(project)), Accepts: accepts}
	if t.ws.Place.DB != "" {
		k.Trash = t.ws.Files().Past().Trash()
	}
	return k, project, nil
}

// Make makes the worktree of a child that is to be born, from the files of its parent.
func (t Trees) Make(ctx context.Context, o origin, child id.Agent, name string) (worktree.Tree, error) {
	k, _, err := t.Keeper(ctx)
	if err != nil {
		return worktree.Tree{}, err
	}
	return t.makeTree(ctx, k, o, child, name)
}

// takeBack removes the worktree of a child that was not born. A store that failed may
// have made the child all the same: then it keeps its files.
func (t Trees) takeBack(ctx context.Context, folder string, tree worktree.Tree, cause error) error {
	ctx = context.WithoutCancel(ctx)
	_, err := t.ws.Store.Agent(ctx, tree.Child)
	if fault.Is(err, fault.NotFound) {
		err = t.unmake(ctx, folder, tree)
	}
	if err != nil {
		return fault.New(fault.CodeOf(cause), "%w; and the worktree %s is left: %v", cause, tree.Dir, err).
			WithHint("`ramet worktree rm %s` removes it", tree.Child)
	}
	return cause
}

func (t Trees) unmake(ctx context.Context, folder string, tree worktree.Tree) error {
	k, _, err := t.Keeper(ctx)
	if err != nil {
		return err
	}
	return k.Unmake(ctx, folder, tree)
}

// Child makes a worktree for the kernel; undo takes it away.
func (t Trees) Child(ctx context.Context, folder string, child id.Agent, name string) (at process.Place, undo func(), err error) {
	tree, err := t.Make(ctx, origin{Folder: folder}, child, name)
	if err != nil {
		return process.Place{}, nil, err
	}
	at = process.Place{Dir: tree.Cwd, Branch: tree.Branch, Base: tree.Head, Brought: tree.Brought, Missing: tree.Missing}
	return at, func() { t.unmake(context.WithoutCancel(ctx), folder, tree) }, nil
}

// Find finds a worktree to do something with, such as merge: by the agent whose it is or who works in it, or by the uuid of one
// that was never born, because a crash came between. into is the folder that it came from.
func (t Trees) Find(ctx context.Context, what, ref string) (found Tree, err error) {
	a, err := t.ws.Find(ctx, ref)
	if err == nil {
		if err := t.ws.may(ctx, what+" the worktree of", a); err != nil {
			return found, err
		}
	}
	k, project, failed := t.Keeper(ctx)
	if failed != nil {
		return found, failed
	}
	if fault.Is(err, fault.NotFound) {
		trees, lerr := k.List(ctx, project)
		for _, tree := range trees {
			if lerr == nil && string(tree.Child) == ref {
				return t.about(ctx, k, project, tree)
			}
		}
	}
	if err != nil {
		return found, err
	}
	tree, ok, err := k.Of(ctx, project, a.Cwd)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s has no worktree: its files are those in %s", a.Label(), a.Cwd).
			WithHint("`ramet fork --worktree` makes a child that has one")
	}
	if err != nil {
		return found, err
	}
	return t.about(ctx, k, project, tree)
}

// Tree is a worktree, whose it is, and where it came from.
type Tree struct {
	worktree.Tree
	Owner *agent.Agent // nil: never born
	Home  string       // the folder of the owner's parent
	keep  worktree.Keeper
	in    string // the repository's folder
}

// Label names whose it is.
func (t Tree) Label() string {
	if t.Owner != nil {
		return t.Owner.Label()
	}
	return t.Child.Short()
}

// State returns the work in a worktree that its home does not have.
func (t Tree) State(ctx context.Context) (worktree.State, error) {
	return t.keep.State(ctx, t.Tree, t.Home)
}

// Bring brings the work in it into a folder, which has all of it then; and removes it, if it is
// to be. One that cannot be removed stays; the work is safe in both places.
func (t Tree) Bring(ctx context.Context, into string, remove bool) (done worktree.Merged, cleaned bool, err error) {
	if done, err = t.keep.Merge(ctx, t.Tree, into, t.Label()); err != nil || !remove {
		return done, false, err
	}
	removed, err := t.keep.Remove(ctx, t.in, t.Tree, into, false)
	done.TreeTrashed = removed.Trashed
	return done, err == nil, nil
}

// remove removes it, and its branch.
func (t Tree) remove(ctx context.Context, force bool) (worktree.Removed, error) {
	return t.keep.Remove(ctx, t.in, t.Tree, t.Home, force)
}

func (t Trees) about(ctx context.Context, k worktree.Keeper, project string, tree worktree.Tree) (Tree, error) {
	out := Tree{Tree: tree, Home: project, keep: k, in: project}
	a, err := t.ws.Store.Agent(ctx, tree.Child)
	if fault.Is(err, fault.NotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Owner = &a
	if a.IsZero() {
		return out, nil
	}
	parent, err := t.ws.Store.Agent(ctx, a.Parent)
	out.Home = parent.Cwd
	return out, err
}

// List lists them as git has them.
func (t Trees) List(ctx context.Context) ([]Tree, error) {
	k, project, err := t.Keeper(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := k.List(ctx, project)
	if err != nil {
		return nil, err
	}
	var out []Tree
	for _, tree := range listed {
		one, err := t.about(ctx, k, project, tree)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Of returns the worktree that an agent works in; false: it has none.
func (t Trees) Of(ctx context.Context, a agent.Agent) (Tree, bool, error) {
	k, project, err := t.Keeper(ctx)
	if err != nil {
		return Tree{}, false, err
	}
	if !k.Holds(a.Cwd) { // most do not: git is not asked
		return Tree{}, false, nil
	}
	tree, ok, err := k.Of(ctx, project, a.Cwd)
	if err != nil || !ok || tree.Child != a.ID {
		return Tree{}, false, err
	}
	found, err := t.about(ctx, k, project, tree)
	return found, err == nil, err
}

// Keep commits what an agent left, and says what its worktree holds.
func (t Trees) Keep(ctx context.Context, a agent.Agent) (process.Work, bool, error) {
	tree, ok, err := t.Of(ctx, a)
	if err != nil || !ok {
		return process.Work{}, false, err
	}
	if err := tree.keep.Commit(ctx, tree.Tree, a.Label(), string(a.ID)); err != nil {
		return process.Work{}, true, err
	}
	return tree.work(ctx)
}

// Look returns the state of an agent's worktree.
func (t Trees) Look(ctx context.Context, a agent.Agent) (process.Work, bool, error) {
	tree, ok, err := t.Of(ctx, a)
	if err != nil || !ok {
		return process.Work{}, false, err
	}
	return tree.work(ctx)
}

func (t Tree) work(ctx context.Context) (process.Work, bool, error) {
	w, err := t.keep.Work(ctx, t.Tree, t.Home)
	return process.Work{Branch: w.Branch, Commits: w.Commits, Stat: w.Stat, Files: w.Files, Dirty: w.Dirty}, true, err
}

// Diff returns the changes of a child that its parent does not have.
func (t Trees) Diff(ctx context.Context, child, parent agent.Agent, path string) (string, error) {
	tree, err := t.need(ctx, child)
	if err != nil {
		return "", err
	}
	return tree.keep.Diff(ctx, tree.Tree, parent.Cwd, path)
}

// Merge brings a child's work into its parent's folder, and removes the worktree once
// nothing else is in it.
func (t Trees) Merge(ctx context.Context, child, parent agent.Agent) (process.Merged, error) {
	tree, err := t.need(ctx, child)
	if err != nil {
		return process.Merged{}, err
	}
	done, cleaned, err := tree.Bring(ctx, parent.Cwd, true)
	return process.Merged{Commits: done.Commits, Files: done.Files, Into: done.Into, Cleaned: cleaned}, err
}

// Merge brings the work of a tree into a folder for a person: not while its agent works. A tree
// that an agent's fork made is removed once the folder of the parent has all of it; one that a
// person asked for, if the person says so.
func (w Files) Merge(ctx context.Context, t Tree, into string, remove bool) (done worktree.Merged, cleaned bool, err error) {
	if err := w.mayTree(ctx, "merge the worktree of", t); err != nil {
		return done, false, err
	}
	if t.Owner != nil {
		does, err := w.ws.Agents().State(ctx, *t.Owner)
		if err == nil {
			err = process.AtRest(*t.Owner, does)
		}
		if err != nil {
			return done, false, err
		}
		task, err := registry.TaskOf(ctx, w.ws.Store, t.Owner.ID)
		if err != nil {
			return done, false, err
		}
		remove = remove || task.Then != "" && into == t.Home
	}
	return t.Bring(ctx, into, remove)
}

// RemoveTree removes a worktree and its branch; with force also what is committed or merged nowhere.
func (w Files) RemoveTree(ctx context.Context, t Tree, force bool) (worktree.Removed, error) {
	if err := w.mayTree(ctx, "remove the worktree of", t); err != nil {
		return worktree.Removed{}, err
	}
	return t.remove(ctx, force)
}

// mayTree refuses an agent that reaches for the files of another than itself and those below it.
func (w Files) mayTree(ctx context.Context, what string, t Tree) error {
	if t.Owner == nil {
		return w.ws.person(ctx, what+" "+t.Label())
	}
	return w.ws.may(ctx, what, *t.Owner)
}

// Restore makes the worktree of an agent anew, from its parent's folder as it is.
func (t Trees) Restore(ctx context.Context, a, parent agent.Agent) error {
	k, _, err := t.Keeper(ctx)
	if err != nil || !k.Lost(a.Cwd) {
		return err
	}
	_, err = t.makeTree(ctx, k, origin{Folder: parent.Cwd}, a.ID, a.Name)
	return err
}

func (t Trees) need(ctx context.Context, child agent.Agent) (Tree, error) {
	tree, ok, err := t.Of(ctx, child)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s has no worktree: its files are those in %s, or all of them are merged", child.Label(), child.Cwd).
			WithHint("look at the files there")
	}
	return tree, err
}

// origin describes the files that a new worktree gets.
type origin struct {
	Folder string // of the parent
	Clean  bool   // as committed
	// State holds the files at a message; nil: as they are now in the folder.
	State *history.Stated
}

// makeTree makes the worktree of a child that is to be born, with its parent's files.
func (t Trees) makeTree(ctx context.Context, k worktree.Keeper, o origin, child id.Agent, name string) (worktree.Tree, error) {
	commit := ""
	if o.State != nil {
		commit = o.State.Head
	}
	tree, err := k.Make(ctx, o.Folder, child, name, commit)
	if err != nil || o.Clean || o.State == nil && !t.ws.Files().takesStates(o.Folder) {
		return tree, err
	}
	done, err := t.ws.Files().bring(ctx, o, tree)
	if err == nil {
		err = k.NoteBrought(ctx, tree, done.Changed)
	}
	if err != nil {
		if left := t.unmake(ctx, o.Folder, tree); left != nil {
			err = fault.New(fault.CodeOf(err), "%w; and the worktree %s is left: %v", err, tree.Dir, left)
		}
		return worktree.Tree{}, err
	}
	tree.Left, tree.Missing = len(done.Kept) > 0, nil
	for _, left := range done.Kept {
		tree.Missing = append(tree.Missing, left.Path)
	}
	tree.Brought = len(done.Changed)
	return tree, nil
}

// takesStates reports whether states are recorded for a folder.
func (w Files) takesStates(folder string) bool {
	if w.ws.Config.Files == "no" || w.ws.Place.DB == "" { // no place is set
		return false
	}
	_, err := w.Past().Folder(folder)
	return err == nil
}

// bring makes a fresh worktree what its parent's files are, or were. Only what differs from
// the commit is touched.
func (w Files) bring(ctx context.Context, o origin, tree worktree.Tree) (files.RestoreDone, error) {
	s := files.PastState{}
	if o.State != nil {
		root, err := w.stateHash(o.State.State)
		if err != nil {
			return files.RestoreDone{}, err
		}
		s = files.PastState{Root: root, Partial: o.State.Partial()}
	} else {
		f, err := w.Past().Folder(o.Folder)
		if err != nil {
			return files.RestoreDone{}, err
		}
		defer f.Save()
		if _, err := w.RecoverFiles(ctx); err != nil {
			return files.RestoreDone{}, err
		}
		now, err := f.Take(ctx, nil)
		if err != nil {
			return files.RestoreDone{}, err
		}
		s = files.PastState{Root: now.Root, Partial: now.Partial()}
	}
	if s.Root == (chain.Hash{}) {
		return files.RestoreDone{}, nil
	}
	have, err := readCommitted(ctx, tree.Cwd)
	if err != nil {
		return files.RestoreDone{}, err
	}
	done, err := w.Past().Bring(ctx, o.Folder, tree.Cwd, s, have)
	if err == nil && len(done.Kept) > 0 && o.State != nil {
		err = fault.New(fault.NotFound, "%s of that state are no longer available, such as %s: %s", text.Count(len(done.Kept), "file"),
			text.Line(done.Kept[0].Path, 200), done.Kept[0].Why)
	}
	return done, err
}

// readCommitted returns the files of the commit that is checked out in a folder.
func readCommitted(ctx context.Context, dir string) (map[string]files.Committed, error) {
	out, err := git.Run(ctx, dir, "ls-tree", "-r", "-z", "HEAD")
	if err != nil {
		return nil, err
	}
	have := map[string]files.Committed{}
	for _, entry := range git.Fields(out) {
		head, name, _ := strings.Cut(entry, "\t")
		f := strings.Fields(head) // mode, type, id
		if len(f) != 3 || f[1] != "blob" {
			continue
		}
		have[name] = files.Committed{Oid: f[2], Exec: f[0] == "100755", Link: f[0] == "120000"}
	}
	return have, nil
}

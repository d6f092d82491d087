package session

import (
	"context"
	"os"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel/process"
)

// Trees are the git worktrees of a workspace's agents.
type Trees struct{ w *Workspace }

// Keeper makes and removes worktrees, and Project is the folder of their repository: that of
// agent 0, wherever a command is given; agent 0 of a shared workspace may live on another
// host.
func (t Trees) Keeper(ctx context.Context) (k worktree.Keeper, project string, err error) {
	zero, err := t.w.Store.Zero(ctx)
	if err != nil {
		return k, "", err
	}
	project = zero.Cwd
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		project = t.w.Place.Project
	}
	accepts := trust.Gate{Home: t.w.Home, Project: project}.Accepts
	k = worktree.Keeper{Dir: worktree.Folder(t.w.Home, config.WorkspaceName(project)), Accepts: accepts}
	if t.w.Place.DB != "" {
		k.Trash = t.w.Files().Past().Trash()
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
	_, err := t.w.Store.Agent(ctx, tree.Child)
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
	a, err := t.w.Find(ctx, ref)
	if err == nil {
		if err := t.w.may(ctx, what+" the worktree of", a); err != nil {
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
	a, err := t.w.Store.Agent(ctx, tree.Child)
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
	parent, err := t.w.Store.Agent(ctx, a.Parent)
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

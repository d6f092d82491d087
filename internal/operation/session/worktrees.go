package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel/process"
)

// Of is the worktree that an agent works in; false: it has none.
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

package operation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// ListTrees lists the worktrees of agents.
var ListTrees = Op[NoInput, TreeList]{
	Doc: Doc{Name: "worktree list", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the worktrees of agents",
		Help: `List the worktrees of agents: owner, branch, whether there are uncommitted changes, how many commits
are not in the parent's folder, and path.`},
	Run: func(ctx context.Context, e *Env, _ NoInput) (TreeList, error) {
		out := TreeList{Trees: []TreeRow{}}
		trees, err := e.Trees().List(ctx)
		for _, t := range trees {
			out.Trees = append(out.Trees, describeTree(ctx, t))
		}
		// In the order of the agents; git lists by names, which are random.
		slices.SortStableFunc(out.Trees, func(a, b TreeRow) int { return cmp.Compare(a.born, b.born) })
		return out, err
	},
	Text: writeTrees,
}

// TreeList is the worktrees of agents.
type TreeList struct {
	Trees []TreeRow `json:"worktrees"`
}

// describeTree describes a worktree. One that cannot be read is listed with its fault.
func describeTree(ctx context.Context, t session.Tree) TreeRow {
	out := TreeRow{Child: t.Child, Dir: t.Dir, Branch: public.Optional(t.Branch)}
	if t.Owner != nil {
		out.Name, out.Status, out.born = public.Optional(t.Owner.Name), public.Optional(string(t.Owner.Status)), t.Owner.Genesis
	}
	state, err := t.State(ctx)
	if err != nil {
		out.Error = public.Optional(string(fault.CodeOf(err)))
		return out
	}
	out.Dirty, out.Ahead = &state.Dirty, &state.Ahead
	return out
}

// TreeRow is a worktree of an agent.
type TreeRow struct {
	Child  id.Agent `json:"child_uuid"`
	Name   *string  `json:"name"`
	Status *string  `json:"status"` // null: no such agent
	Branch *string  `json:"branch"`
	Dir    string   `json:"dir"`
	Dirty  *bool    `json:"dirty"`
	Ahead  *int     `json:"ahead"`
	Error  *string  `json:"error"` // a code

	born id.Message
}

func writeTrees(w *printer.Writer, _ NoInput, l TreeList) {
	if len(l.Trees) == 0 {
		w.Line("no worktrees")
		return
	}
	rows := [][]string{{"CHILD", "STATUS", "BRANCH", "DIRTY", "AHEAD", "FOLDER"}}
	for _, t := range l.Trees {
		row := []string{t.Child.Short(), "-", "-", "-", "-", t.Dir}
		for i, p := range []*string{t.Name, t.Status, t.Branch, t.Error} {
			if p != nil {
				row[i] = *p
			}
		}
		if t.Dirty != nil && t.Ahead != nil {
			row[3], row[4] = map[bool]string{true: "yes", false: "no"}[*t.Dirty], fmt.Sprint(*t.Ahead)
		}
		rows = append(rows, row)
	}
	w.Table(rows)
}

// RemoveTreeInput names the agent whose worktree is removed.
type RemoveTreeInput struct {
	Child AgentRef `json:"child" arg:"CHILD" help:"the agent that has the worktree"`
	Force bool     `json:"force,omitempty" help:"even with uncommitted changes, which are moved to the trash, or unmerged commits, whose branch is kept"`
}

// RemoveTree removes a worktree.
var RemoveTree = Op[RemoveTreeInput, TreeRemoved]{
	Doc: Doc{Name: "worktree rm", Group: "agents", Faces: CLI,
		Summary: "Remove the worktree of an agent, and its branch",
		Help: `Remove the worktree of an agent and its branch. The command refuses (CONFLICT, exit 4) while there are
uncommitted changes or unmerged commits. If there are files that git doesn't have, including ignored
ones, the folder is moved to the trash ("ramet trash"). The agent lives on without a folder.`},
	Run: func(ctx context.Context, e *Env, in RemoveTreeInput) (out TreeRemoved, err error) {
		t, err := e.Trees().Find(ctx, "remove", string(in.Child))
		if err != nil {
			return out, err
		}
		done, err := e.Workspace.Files().RemoveTree(ctx, t, in.Force)
		return TreeRemoved{t.Child, t.Dir, public.Optional(t.Branch), done.BranchDeleted, public.Optional(done.Trashed)}, err
	},
	Text: writeRemovedTree,
}

// TreeRemoved is a worktree that was removed.
type TreeRemoved struct {
	Child         id.Agent `json:"child_uuid"`
	Dir           string   `json:"dir"`
	Branch        *string  `json:"branch"`
	BranchDeleted bool     `json:"branch_deleted"`
	Trashed       *string  `json:"trashed"` // its id in the trash; null: git has all that was in it
}

func writeRemovedTree(w *printer.Writer, _ RemoveTreeInput, r TreeRemoved) {
	w.Line("removed %s", r.Dir)
	if r.Trashed != nil {
		w.Line("it is in the trash, because it had files that git does not have: %s", *r.Trashed)
	}
	switch {
	case r.BranchDeleted:
		w.Line("deleted branch %s", *r.Branch)
	case r.Branch != nil:
		w.Line("the branch %s stays", *r.Branch)
	}
}

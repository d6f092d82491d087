package operation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/files/worktree"
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

// MergeInput names a child, and the folder that gets its work.
type MergeInput struct {
	Child  AgentRef `json:"child" arg:"CHILD" help:"the agent that has a worktree"`
	Into   Path     `json:"into,omitempty" help:"a folder of the same repository (default: that of the child's parent)"`
	Remove bool     `json:"rm,omitempty" help:"remove the worktree afterwards, even if you made it"`
}

// Merge brings back the work of a child.
var Merge = Op[MergeInput, Merged]{
	Doc: Doc{Name: "merge", Group: "agents", Faces: CLI,
		Summary: "Merge a child's worktree",
		Help: `Merge the worktree of a child ("ramet fork --worktree") into its parent's folder. Uncommitted
changes of the child are committed first. Ignored files stay where they are; an ignored file
in the parent's folder that is in the way of a merged one is moved to the trash ("ramet trash").
Afterwards the worktree is removed if an agent made it for its child. One that you made stays until
"ramet worktree rm"; {rm} removes it now. While the child is working, the merge is refused (CONFLICT).

If both sides changed the same lines, or uncommitted changes in the folder are in the way, the
merge is undone and the files are listed (CONFLICT, exit 4). Nothing is lost on either side. If there
is nothing to merge, the command says so and exits with 0. Hooks of the repository don't run.`},
	Run: func(ctx context.Context, e *Env, in MergeInput) (out Merged, err error) {
		t, err := e.Trees().Find(ctx, "merge", string(in.Child))
		if err != nil {
			return out, err
		}
		into := cmp.Or(string(in.Into), t.Home)
		out.Child, out.label = t.Child, t.Label()
		out.done, out.Cleaned, err = e.Workspace.Files().Merge(ctx, t, into, in.Remove)
		d := out.done
		out.Into, out.Branch, out.Commit, out.Commits, out.Files, out.Committed = d.Into, public.Optional(d.Branch), public.Optional(d.Commit), d.Commits, d.Files, d.Committed
		for _, moved := range d.Trashed {
			out.Trashed = append(out.Trashed, moved.Name())
		}
		if d.TreeTrashed != "" {
			out.Trashed = append(out.Trashed, d.TreeTrashed)
		}
		return out, err
	},
	Text: writeMerged,
}

// Merged is the work that a merge brought.
type Merged struct {
	Child     id.Agent `json:"child_uuid"`
	Into      string   `json:"into"`
	Branch    *string  `json:"branch"`
	Commit    *string  `json:"commit"`
	Commits   int      `json:"commits"`
	Files     []string `json:"files"`
	Committed bool     `json:"committed"`
	Cleaned   bool     `json:"cleaned,omitempty"`
	Trashed   []string `json:"trashed,omitempty"` // ids in the trash

	label string
	done  worktree.Merged
}

func writeMerged(w *printer.Writer, _ MergeInput, m Merged) {
	if m.Commit == nil {
		w.Line("nothing to merge: %s has everything of %s", m.Into, m.label)
	} else {
		w.Line("merged %s of %s into %s, %s changed", text.Count(m.Commits, "commit"), m.label, m.Into, text.Count(len(m.Files), "file"))
	}
	for _, e := range m.done.Trashed {
		w.Line("%s was ignored by git and in the way: it is in the trash (%s)", text.Name(e.Path), e.Name())
	}
	if m.Cleaned {
		w.Line("its worktree is removed")
	}
	if m.done.TreeTrashed != "" {
		w.Line("%v", w.Dim("it had files that git does not have; they are in the trash: "+m.done.TreeTrashed))
	}
}

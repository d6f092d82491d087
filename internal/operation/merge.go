package operation

import (
	"cmp"
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/files/worktree"
	"ramet/internal/operation/public"
)

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

package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/files/worktree"
	"ramet/internal/operation/public"
)

func mergeCommand(l *Line) *cobra.Command {
	var into string
	var remove bool
	c := &cobra.Command{
		Use:   "merge CHILD",
		Short: "Bring back the work that a child did in its worktree",
		Long: `Merge the worktree of a child ("ramet fork --worktree") into its parent's folder.
What the child did not commit is committed first, as it is now; files that git
ignores stay where they are, and one in the folder that is in the way of a merged file
is moved to the trash ("ramet trash"). A worktree that an agent made for its child is removed
then; one that you made stays until "ramet worktree rm", or with --rm. While the child
works nothing is merged (CONFLICT).

Where both sides changed the same, or the folder has changes in the way that are
not committed, the merge is undone and the files are named (CONFLICT, exit 4):
nothing is lost on either side. Nothing to merge: says so, exit 0. Hooks of the
repository do not run.`,
		Args:              CheckArguments(1, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			ws, err := l.Open(ctx)
			if err != nil {
				return err
			}
			t, err := ws.Trees.Find(ctx, args[0])
			if err != nil {
				return err
			}
			dir := t.Home
			if c.Flags().Changed("into") {
				if dir = into; !filepath.IsAbs(dir) {
					dir = filepath.Join(l.Dir, dir)
				}
			}
			done, cleaned, err := ws.Files().Merge(ctx, t, dir, remove)
			if err != nil {
				return err
			}
			return l.Print(merged{t.Child, t.Label(), done, cleaned})
		},
	}
	c.Flags().StringVar(&into, "into", "", "a folder of the same repository (default: that of the child's parent)")
	c.Flags().BoolVar(&remove, "rm", false, "remove the worktree afterwards, also one that you made")
	return c
}

// merged is the datum of merge.
type merged struct {
	child id.Agent
	label string
	worktree.Merged
	cleaned bool
}

func (m merged) MarshalJSON() ([]byte, error) {
	return public.Marshal(struct {
		Child     id.Agent `json:"child_uuid"`
		Into      string   `json:"into"`
		Branch    *string  `json:"branch"`
		Commit    *string  `json:"commit"`
		Commits   int      `json:"commits"`
		Files     []string `json:"files"`
		Committed bool     `json:"committed"`
		Cleaned   bool     `json:"cleaned,omitempty"`
		Trashed   []string `json:"trashed,omitempty"` // ids in the trash
	}{m.child, m.Into, public.Optional(m.Branch), public.Optional(m.Commit), m.Commits, m.Files, m.Committed, m.cleaned, m.trashed()})
}

// trashed lists what the merge moved to the trash.
func (m merged) trashed() (out []string) {
	for _, e := range m.Trashed {
		out = append(out, e.Name())
	}
	if m.TreeTrashed != "" {
		out = append(out, m.TreeTrashed)
	}
	return out
}

func (m merged) Text(w *printer.Writer) {
	if m.Commit == "" {
		w.Line("nothing to merge: %s has everything of %s", m.Into, m.label)
	} else {
		w.Line("merged %s of %s into %s, %s changed", text.Count(m.Commits, "commit"), m.label, m.Into, text.Count(len(m.Files), "file"))
	}
	for _, e := range m.Trashed {
		w.Line("%s was ignored by git and in the way: it is in the trash (%s)", text.Name(e.Path), e.Name())
	}
	if m.cleaned {
		w.Line("its worktree is removed")
	}
	if m.TreeTrashed != "" {
		w.Line("%v", w.Dim("it had files that git does not have; they are in the trash: "+m.TreeTrashed))
	}
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func worktreeCommand(l *Line) *cobra.Command {
	c := &cobra.Command{
		Use:   "worktree",
		Short: "List or remove the worktrees of agents",
		Long: `Look after the git worktrees that "ramet fork --worktree" made. "ramet merge"
brings the work in one back.`,
		Args: UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(worktreeList(l), worktreeRm(l))
	return c
}

func worktreeList(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worktrees of agents",
		Long: `List the worktrees of agents: whose, its branch, whether something in it is not
committed, how many commits its parent's folder has not, and where it is.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			ws, err := l.Open(ctx)
			if err != nil {
				return err
			}
			trees, err := ws.Trees.List(ctx)
			if err != nil {
				return err
			}
			out := treeList{Trees: []treeShape{}}
			for _, t := range trees {
				out.Trees = append(out.Trees, row(ctx, t))
			}
			// As the agents came; git lists by names, which are random.
			slices.SortStableFunc(out.Trees, func(a, b treeShape) int { return cmp.Compare(a.born, b.born) })
			return l.Print(out)
		},
	}
}

func worktreeRm(l *Line) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "rm CHILD",
		Short: "Remove the worktree of an agent, and its branch",
		Long: `Remove the worktree of an agent, and its branch. Refused (CONFLICT, exit 4) while
it holds changes that are not committed, or commits that are merged nowhere. If it holds
files that git does not have, ignored ones too, its folder is moved to the trash ("ramet
trash"). The agent lives on, without a folder.`,
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
			done, err := ws.Files().RemoveTree(ctx, t, force)
			if err != nil {
				return err
			}
			return l.Print(treeRemoved{t.Child, t.Dir, public.Optional(t.Branch), done.BranchDeleted, public.Optional(done.Trashed)})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also with changes that are not committed, which go to the trash, or commits that are merged nowhere, whose branch stays")
	return c
}

// row never fails because of a worktree: one that cannot be read is listed with
// its fault.
func row(ctx context.Context, t session.Tree) treeShape {
	out := treeShape{Child: t.Child, Dir: t.Dir, Branch: public.Optional(t.Branch)}
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

// treeShape is a worktree for programs.
type treeShape struct {
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

// treeList is the datum of worktree list.
type treeList struct {
	Trees []treeShape `json:"worktrees"`
}

func (l treeList) Text(w *printer.Writer) {
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

// treeRemoved is the datum of worktree rm.
type treeRemoved struct {
	Child         id.Agent `json:"child_uuid"`
	Dir           string   `json:"dir"`
	Branch        *string  `json:"branch"`
	BranchDeleted bool     `json:"branch_deleted"`
	Trashed       *string  `json:"trashed"` // its id in the trash; null: git has all that was in it
}

func (r treeRemoved) Text(w *printer.Writer) {
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

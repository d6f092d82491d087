package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/config"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/printer"
	"ramet/internal/workspace"
	"ramet/internal/worktree"
)

func (s *session) worktreeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "worktree",
		Short: "List or remove the worktrees of agents",
		Long: `Look after the git worktrees that "ramet fork --worktree" made. "ramet merge"
brings the work in one back.`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.worktreeList(), s.worktreeRm())
	return c
}

func (s *session) worktreeList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the worktrees of agents",
		Long: `List the worktrees of agents: whose, its branch, whether something in it is not
committed, how many commits its parent's folder has not, and where it is.`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			g, err := s.garden(ctx)
			if err != nil {
				return err
			}
			trees, err := g.List(ctx, g.project)
			if err != nil {
				return err
			}
			out := treeList{Trees: []treeShape{}}
			for _, t := range trees {
				row, err := g.row(ctx, t)
				if err != nil {
					return err
				}
				out.Trees = append(out.Trees, row)
			}
			// As the agents came; git lists by names, which are random.
			slices.SortStableFunc(out.Trees, func(a, b treeShape) int { return cmp.Compare(a.born, b.born) })
			return s.print(out)
		},
	}
}

func (s *session) worktreeRm() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "rm CHILD",
		Short: "Remove the worktree of an agent, and its branch",
		Long: `Remove the worktree of an agent, and its branch. Refused (CONFLICT, exit 4) while
it holds changes that are not committed, or commits that are merged nowhere.
Files that git ignores go with it. The agent lives on, without a folder.`,
		Args:              arguments(1, 1),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			g, err := s.garden(ctx)
			if err != nil {
				return err
			}
			t, err := g.find(ctx, args[0])
			if err != nil {
				return err
			}
			owner, err := g.owner(ctx, t)
			if err != nil {
				return err
			}
			into, err := g.home(ctx, owner)
			if err != nil {
				return err
			}
			done, err := g.Remove(ctx, g.project, t, into, force)
			if err != nil {
				return err
			}
			return s.print(treeRemoved{t.Child, t.Dir, optional(t.Branch), done.BranchDeleted})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "throw away what is not committed or not merged")
	return c
}

// garden is the worktrees of this workspace.
type garden struct {
	worktree.Keeper
	project string // the folder of the repository
	ws      Workspace
}

func (s *session) garden(ctx context.Context) (garden, error) {
	place, err := s.place()
	if err != nil {
		return garden{}, err
	}
	home, err := s.homeDir()
	if err != nil {
		return garden{}, err
	}
	ws, err := s.open(ctx)
	if err != nil {
		return garden{}, err
	}
	// The repository is that of agent 0, wherever the command is given; agent 0 of a
	// shared workspace may live on another host.
	zero, err := ws.Zero(ctx)
	if err != nil {
		return garden{}, err
	}
	project := zero.Cwd
	if info, err := os.Stat(project); err != nil || !info.IsDir() {
		project = place.Project
	}
	trusted, err := config.Trusted(home, project, acting)
	if err != nil {
		return garden{}, err
	}
	return garden{worktree.Keeper{Dir: worktree.Folder(home, workspace.Name(project)), Trusted: trusted}, project, ws}, nil
}

// find finds a worktree: by the agent whose it is or who works in it, or by the
// uuid of one that was never born, because a crash came between.
func (g garden) find(ctx context.Context, ref string) (worktree.Tree, error) {
	a, err := agent.Find(ctx, g.ws, ref)
	if fault.Is(err, fault.NotFound) {
		trees, lerr := g.List(ctx, g.project)
		for _, t := range trees {
			if lerr == nil && string(t.Child) == ref {
				return t, nil
			}
		}
	}
	if err != nil {
		return worktree.Tree{}, err
	}
	t, ok, err := g.Of(ctx, g.project, a.Cwd)
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "%s has no worktree: its files are those in %s", a.Label(), a.Cwd).
			WithHint("`ramet fork --worktree` makes a child that has one")
	}
	return t, err
}

// owner is the agent for whom a worktree was made, if it was born.
func (g garden) owner(ctx context.Context, t worktree.Tree) (*agent.Agent, error) {
	a, err := g.ws.Agent(ctx, t.Child)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &a, err
}

// home is the folder that a worktree came from: that of the owner's parent.
func (g garden) home(ctx context.Context, owner *agent.Agent) (string, error) {
	if owner == nil || owner.IsZero() {
		return g.project, nil
	}
	parent, err := g.ws.Agent(ctx, owner.Parent)
	return parent.Cwd, err
}

// row never fails because of a worktree: one that cannot be read is listed with
// its fault.
func (g garden) row(ctx context.Context, t worktree.Tree) (treeShape, error) {
	out := treeShape{Child: t.Child, Dir: t.Dir, Branch: optional(t.Branch)}
	owner, err := g.owner(ctx, t)
	if err != nil {
		return out, err
	}
	if owner != nil {
		out.Name, out.Status, out.born = optional(owner.Name), optional(string(owner.Status)), owner.Genesis
	}
	into, err := g.home(ctx, owner)
	if err != nil {
		return out, err
	}
	state, err := g.State(ctx, t, into)
	if err != nil {
		out.Error = optional(string(fault.CodeOf(err)))
		return out, nil
	}
	out.Dirty, out.Ahead = &state.Dirty, &state.Ahead
	return out, nil
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
}

func (r treeRemoved) Text(w *printer.Writer) {
	w.Line("removed %s", r.Dir)
	switch {
	case r.BranchDeleted:
		w.Line("deleted branch %s", *r.Branch)
	case r.Branch != nil:
		w.Line("the branch %s stays", *r.Branch)
	}
}

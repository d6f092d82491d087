package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/text"
	"ramet/internal/worktree"
)

func (s *session) forkCommand() *cobra.Command {
	var name, prompt, at string
	var apart bool
	c := &cobra.Command{
		Use:   "fork [AGENT]",
		Short: "Fork an agent; print the child's uuid",
		Long: `Fork an agent (agent 0 if none is named) and print the child's uuid. The child
inherits the context by reference: the cost does not depend on its length.
Files are shared, not copied: parent and child work in the same folder.

With --worktree the child gets a git worktree and a branch of its own, beginning
with the commit that is checked out in the parent's folder; what is not committed
there stays there. "ramet merge" brings its work back.

With --at the child begins with a rewind to that message, so that its context
is the parent's as it was just after it.`,
		Args:              arguments(0, 1),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			ws, parent, err := s.findOr0(ctx, args)
			if err == nil {
				err = s.mend(ctx, ws, parent)
			}
			if err != nil {
				return err
			}
			child := registry.Child{ID: id.NewAgent(), Name: name}
			if c.Flags().Changed("name") {
				if err := agent.CheckName(name); err != nil {
					return err
				}
			}
			if c.Flags().Changed("at") {
				target, err := id.ParseMessage(at)
				if err != nil {
					return err
				}
				// Asked of the parent, so that the refusal speaks of what the user sees.
				if err := history.Lookup(ctx, ws, parent.ID, target); err != nil {
					return err
				}
				child.Entries = append(child.Entries, history.NewRewind(target, ""))
			}
			if c.Flags().Changed("prompt") {
				text, err := s.text(prompt)
				if err != nil {
					return err
				}
				said, err := history.Say(history.User, text)
				if err != nil {
					return err
				}
				child.Entries = append(child.Entries, said)
			}
			born, tree, err := s.fork(ctx, ws, parent, child, apart)
			if err != nil {
				return err
			}
			if tree != nil && tree.Uncommitted && !s.json {
				fmt.Fprintf(s.Stderr, "%s has changes that are not committed; the child does not have them\n", text.Safe(parent.Cwd))
			}
			return s.print(forked{shapeAgent(born), tree})
		},
	}
	c.Flags().StringVar(&name, "name", "", "a name for the child")
	c.Flags().StringVar(&prompt, "prompt", "", "first message of the child (- reads standard input)")
	c.Flags().StringVar(&at, "at", "", "message id at which the child's context ends")
	c.Flags().BoolVar(&apart, "worktree", false, "give the child files of its own: a git worktree and a branch")
	return c
}

// fork makes a child, and before it its worktree, which goes again if the fork fails.
func (s *session) fork(ctx context.Context, ws Workspace, parent agent.Agent, child registry.Child, apart bool) (agent.Agent, *forkedTree, error) {
	var g garden
	var t worktree.Tree
	var shape *forkedTree
	if apart {
		var err error
		if err = agent.NeedLiving(parent); err != nil {
			return agent.Agent{}, nil, err
		}
		if g, err = s.garden(ctx); err != nil {
			return agent.Agent{}, nil, err
		}
		if t, err = g.Make(ctx, parent.Cwd, child.ID, child.Name); err != nil {
			return agent.Agent{}, nil, err
		}
		child.Cwd, shape = t.Cwd, &forkedTree{t.Dir, t.Branch, t.Left}
	}
	born, err := s.forkThrough(ctx, ws, parent, registry.Fork{Parent: parent.ID, Claim: agent.Passing(), Children: []registry.Child{child}})
	if err != nil && apart {
		err = g.takeBack(ctx, parent.Cwd, t, err)
	}
	if err != nil {
		return agent.Agent{}, nil, err
	}
	return born[0], shape, nil
}

// takeBack removes the worktree of a child that was not born. A store that failed may
// have made the child all the same: then it keeps its files.
func (g garden) takeBack(ctx context.Context, project string, t worktree.Tree, cause error) error {
	_, err := g.ws.Agent(context.WithoutCancel(ctx), t.Child)
	if fault.Is(err, fault.NotFound) {
		err = g.Unmake(ctx, project, t)
	}
	if err != nil {
		return fault.New(fault.CodeOf(cause), "%w; and the worktree %s is left: %v", cause, t.Dir, err).
			WithHint("`ramet worktree rm %s` removes it", t.Child)
	}
	return cause
}

// forked is the datum of fork.
type forked struct {
	agentShape
	Worktree *forkedTree `json:"worktree"`
}

type forkedTree struct {
	Dir         string `json:"dir"`
	Branch      string `json:"branch"`
	Uncommitted bool   `json:"uncommitted"` // the parent's folder has changes that the child has not
}

func (f forked) Text(w *printer.Writer) { w.Line("%s", string(f.UUID)) }

package process

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/turn/tool"
)

var mergeSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("merge", tool.Spec{
		As:      "edit",
		Args:    shape.Object(shape.Must("child", shape.Text(1))),
		Summary: summary(func(args treeArgs) string { return "merge the work of " + args.Child + " into this folder" }),
	})
})

var diffSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("diff", tool.Spec{
		Args: shape.Object(
			shape.Must("child", shape.Text(1)),
			shape.May("path", shape.Text(0)).Untold(),
		),
		Summary: summary(func(args treeArgs) string {
			return strings.TrimSpace("show the changes of " + args.Child + " " + args.Path)
		}),
	})
})

type treeArgs struct {
	Child string `json:"child"`
	Path  string `json:"path"`
}

// merge brings the work of a child back.
func (a actor) merge(ctx context.Context, _ tool.Call, args treeArgs) (tool.Answer, error) {
	me, child, err := a.offspring(ctx, args.Child)
	if err != nil {
		return tool.Answer{}, err
	}
	now, err := a.kernel.Sources().Look(ctx, false, child.ID)
	if err != nil {
		return tool.Answer{}, err
	}
	if err := AtRest(child, now.Of(child)); err != nil {
		return tool.Answer{}, err
	}
	done, err := a.kernel.Worktrees().Merge(ctx, child, me)
	if err != nil {
		return tool.Answer{}, err
	}
	foreign, err := history.ForeignOf(ctx, a.people, child.ID)
	if err != nil {
		return tool.Answer{}, err
	}
	if done.Commits == 0 {
		return tool.Answer{Text: "Nothing to merge: your folder has everything of " + title(child) + "." + cleaned(done)}, nil
	}
	return tool.Answer{Foreign: foreign, Text: fmt.Sprintf("Merged %s of %s into your folder, which is committed. Changed: %s.%s Check it: its report is a claim.",
		text.Count(done.Commits, "commit"), title(child), text.FirstOf(done.Files, 40), cleaned(done))}, nil
}

// AtRest refuses the work of a child that still does something: CONFLICT.
func AtRest(child agent.Agent, does state.State) error {
	if !does.Busy() {
		return nil
	}
	return fault.New(fault.Conflict, "%s is still working (%s)", title(child), does).WithHint("nothing was merged: wait for it first")
}

func cleaned(m Merged) string {
	if !m.Cleaned {
		return ""
	}
	return " Its worktree is removed; mail to it creates a new one, from your folder."
}

// offspring returns an agent that descends from this one and has a worktree to speak of.
func (a actor) offspring(ctx context.Context, ref string) (me, child agent.Agent, err error) {
	me, child, err = a.descendant(ctx, ref, "name a child of yours")
	if err == nil && a.kernel.Worktrees() == nil {
		err = fault.New(fault.NotFound, "no worktrees here")
	}
	return me, child, err
}

// mostDiff limits the diff in one answer.
const mostDiff = 24 << 10

// diff shows what a child changed.
func (a actor) diff(ctx context.Context, _ tool.Call, args treeArgs) (tool.Answer, error) {
	me, child, err := a.offspring(ctx, args.Child)
	if err != nil {
		return tool.Answer{}, err
	}
	out, err := a.kernel.Worktrees().Diff(ctx, child, me, args.Path)
	if err != nil {
		return tool.Answer{}, err
	}
	if strings.TrimSpace(out) == "" {
		return tool.Answer{Text: "No difference: " + title(child) + " has changed nothing that your folder has not."}, nil
	}
	if len(out) > mostDiff {
		cut := strings.LastIndexByte(out[:mostDiff], '\n')
		out = out[:cut+1] + fmt.Sprintf("[%d bytes more: ask with path for one file]", len(out)-cut-1)
	}
	foreign, err := history.ForeignOf(ctx, a.people, child.ID)
	return tool.Answer{Text: out, Foreign: foreign}, err
}

// Trees are the git worktrees in which agents work.
type Trees interface {
	// Keep commits what an agent left in its worktree, on its branch, in the name of the
	// user, and says what the tree holds. ok is false for an agent that has none.
	Keep(ctx context.Context, a agent.Agent) (w Work, ok bool, err error)
	// Look describes the contents of the worktree without changing it.
	Look(ctx context.Context, a agent.Agent) (w Work, ok bool, err error)
	// Diff returns the child's changes that its parent lacks, committed or not, optionally of one path. It returns NOT_FOUND
	// if the child has no worktree.
	Diff(ctx context.Context, child, parent agent.Agent, path string) (string, error)
	// Merge brings the child's work into its parent's folder, and removes the worktree once
	// nothing is in it that the folder has not. CONFLICT, with the files: nothing changed.
	Merge(ctx context.Context, child, parent agent.Agent) (Merged, error)
	// Restore makes the worktree anew that a merge removed, from the parent's folder as it
	// is. It changes nothing where the agent has its folder.
	Restore(ctx context.Context, a, parent agent.Agent) error
}

// Work describes the changes in a worktree that the folder it came from lacks.
type Work struct {
	Branch  string
	Commits int
	Stat    string   // files, lines added and taken away, in words; empty: nothing differs
	Files   []string // that differ
	Dirty   []string // of these, what is not committed
}

// Merged describes the result of a merge.
type Merged struct {
	Commits int
	Files   []string
	Into    string // the branch of the parent's folder; empty: none
	Cleaned bool   // the worktree is gone: all of it is merged
}

package process

import (
	"context"

	"ramet/internal/core/agent"
)

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

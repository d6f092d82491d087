package app

import (
	acts "ramet/internal/kernel/process"
	"ramet/internal/runner"
)

// treesOf are the worktrees in which agents work; agents of a run have none of this kind.
func treesOf(r request, work *runner.WorkerPool) acts.Trees {
	if work != nil {
		return nil
	}
	return r.Trees
}

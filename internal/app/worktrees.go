package app

import (
	"ramet/internal/runner/crew"
	acts "ramet/internal/tool/process"
)

// treesOf are the worktrees in which agents work; agents of a run have none of this kind.
func treesOf(r request, work *crew.Crew) acts.Trees {
	if work != nil {
		return nil
	}
	return r.Trees
}

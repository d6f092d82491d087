package app

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/runner"
	"ramet/internal/turn/loop"
)

// states takes the states of the folders that agents work in. Agents of runs have none: what
// they make is in the outputs of their items.
func states(r request, work *runner.WorkerPool) func(agent.Agent) loop.Files {
	if r.NoTools {
		return nil
	}
	return func(a agent.Agent) loop.Files {
		if work != nil {
			if belongs, err := work.Belongs(a); err != nil || belongs {
				return nil
			}
		}
		return r.Files().FileStates(a, r.Cwd)
	}
}

// recoverFiles finishes what a process that was killed left half restored.
func recoverFiles(ctx context.Context, r request) {
	done, err := r.Files().RecoverFiles(ctx)
	for _, d := range done {
		r.warn(d.Finished())
	}
	if err != nil {
		r.warn("a restore of files that was interrupted is not finished: " + err.Error())
	}
}

// warn tells whoever started the kernel.
func (r request) warn(what string) {
	if r.Warn != nil {
		r.Warn(what)
	}
}

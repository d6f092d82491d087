package app

import (
	"ramet/internal/agent"
	"ramet/internal/loop"
	"ramet/internal/runner/crew"
)

// states takes the states of the folders that agents work in. Agents of runs have none: what
// they make is in the outputs of their items.
func states(r request, work *crew.Crew) func(agent.Agent) loop.Files {
	if r.NoTools {
		return nil
	}
	return func(a agent.Agent) loop.Files {
		if work != nil {
			if belongs, err := work.Belongs(a); err != nil || belongs {
				return nil
			}
		}
		return r.FileStates(a, r.Cwd)
	}
}

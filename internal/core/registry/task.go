package registry

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Task is how an agent began its work.
type Task struct {
	Then  history.Then // what its report does; empty: no agent forked it for a task
	Alone bool         // it knows nothing but its task, and no definition made it
}

// TaskOf reads an agent's task: the first that a user's voice says in its own history.
func TaskOf(ctx context.Context, log history.Log, a id.Agent) (Task, error) {
	task, _, err := FirstTask(ctx, log, a)
	return task, err
}

// FirstTask is TaskOf, and whether a user's voice has spoken: from then on the task stays what it is.
func FirstTask(ctx context.Context, log history.Log, a id.Agent) (_ Task, told bool, _ error) {
	wall, defined := false, false
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
		if err != nil {
			return Task{}, false, err
		}
		switch e.Kind {
		case history.Clear:
			wall = true
		case history.System:
			defined = true
		case history.User:
			m, err := e.Decode()
			return Task{m.Then, wall && !defined && m.Then != ""}, err == nil, err
		}
	}
	return Task{}, false, nil
}

package runner

import (
	"strings"

	"ramet/internal/run/recipe"
)

// Local is the queue of what must be done where the run's folder is; Work is that of
// everything else.
const (
	Local = "local"
	Work  = "work"
)

// QueueOf is the queue of a worker that is not built in.
func QueueOf(w recipe.Worker) string {
	name := Work
	if w.Queue != "" {
		name = w.Queue
	}
	if w.External {
		name = ExternalQueue(name)
	}
	return name
}

// ExternalQueue is the queue, beside another, of the items that act outside the run: only hosts
// whose users let them do that serve it. No recipe can give a queue such a name.
func ExternalQueue(queue string) string { return queue + externalSuffix }

// IsExternalQueue reports whether it is one of those.
func IsExternalQueue(queue string) bool { return strings.HasSuffix(queue, externalSuffix) }

const externalSuffix = "/external"

func (r *Run) queueName(e *attempt) string {
	w, _ := r.worker(e.worker)
	if w.Uses != "" {
		return Local
	}
	return QueueOf(w)
}

func (r *Run) queueOf(e *attempt) Queue {
	if r.queueName(e) == Local {
		return r.Near
	}
	return r.Far
}

func (r *Run) enqueued(e *attempt) Enqueued {
	return Enqueued{ID: e.id, RunID: r.RunID, Queue: r.queueName(e)}
}

package runner

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/run/recipe"
)

// Queue hands out attempts by their ids. It is derived from the log and may be lost at
// any time; the orchestrator enqueues again what the log says is waiting. An attempt may
// be handed out more than once: its host asks the orchestrator, which reports whether
// it is still to be done.
type Queue interface {
	// Enqueue lets attempts wait. One that waits already, or that a host is doing, stays as it
	// is; one that ended, was cancelled or was given back waits again.
	Enqueue(ctx context.Context, attempts ...Enqueued) error
	// Cancel takes an attempt out, or ends its context. An unknown id
	// changes nothing.
	Cancel(ctx context.Context, id string) error
	// Takeover lets the attempts of a dead host wait again, but for cancelled ones, and
	// gives the ids of those that wait.
	Takeover(ctx context.Context, host string) ([]string, error)
}

// Host takes attempts out of queues.
type Host interface {
	// Serve does attempts until ctx ends, the oldest first, never more than parallel at once
	// over all queues. It returns when nothing is being done any more. What do left undone
	// at the end waits again; what it gave back with an error at other times waits for
	// another Enqueue.
	Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j Enqueued) error) error
}

// Enqueued is an attempt in a queue.
type Enqueued struct {
	ID    string // of the attempt
	RunID string
	Queue string // name of the queue
}

// CheckEnqueued returns an error if attempts cannot be enqueued.
func CheckEnqueued(attempts []Enqueued) error {
	for _, j := range attempts {
		if j.ID == "" || j.Queue == "" || len(j.Queue) > 100 {
			return fault.New(fault.Usage, "an attempt needs an id and the name of a queue, at most 100 bytes: %.100q in %.100q", j.ID, j.Queue)
		}
	}
	return nil
}

// CheckServe returns an error if a host cannot serve these queues.
func CheckServe(queues []string, parallel int) error {
	if len(queues) == 0 || parallel < 1 {
		return fault.New(fault.Usage, "a host needs the name of a queue and room for at least one attempt")
	}
	return nil
}

// Local is the queue of what must be done where the run's folder is; Work is that of
// everything else.
const (
	Local = "local"
	Work  = "work"
)

// QueueOf returns the queue of a worker that is not built in.
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

// ExternalQueue returns the queue of the items that act outside the run, for another queue: only hosts
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

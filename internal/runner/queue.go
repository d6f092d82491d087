package runner

import (
	"context"

	"ramet/internal/fault"
)

// Queue hands out jobs: the ids of items. It is derived from the log and may be lost at
// any time; the orchestrator enqueues again what the log says is waiting. A job may be
// handed out more than once: whoever has one asks the orchestrator, which says whether its item is
// still to be done.
type Queue interface {
	// Enqueue lets jobs wait. One that waits already, or that a host is doing, stays as it
	// is; one that ended, was cancelled or was given back waits again.
	Enqueue(ctx context.Context, jobs ...Enqueued) error
	// Cancel takes a job out, or ends the context of whoever does it. Unknown: nothing.
	Cancel(ctx context.Context, id string) error
	// Takeover lets the jobs of a dead host wait again, but for those that were cancelled,
	// and tells which.
	Takeover(ctx context.Context, host string) ([]string, error)
}

// Host takes jobs out of queues.
type Host interface {
	// Serve does jobs until ctx ends, the oldest first, never more than parallel at once
	// over all queues. It returns when nothing is being done any more. What do left undone
	// at the end waits again; what it gave back with an error at other times waits for
	// another Enqueue.
	Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j Enqueued) error) error
}

// Job is an item in a queue.
type Enqueued struct {
	ID    string // of the item
	RunID string
	Queue string // name of the queue
}

// CheckJobs says what is wrong with jobs that are to be enqueued.
func CheckEnqueued(jobs []Enqueued) error {
	for _, j := range jobs {
		if j.ID == "" || j.Queue == "" || len(j.Queue) > 100 {
			return fault.New(fault.Usage, "a job needs an id and the name of a queue, at most 100 bytes: %.100q in %.100q", j.ID, j.Queue)
		}
	}
	return nil
}

// CheckServe says what is wrong with what a host wants to serve.
func CheckServe(queues []string, parallel int) error {
	if len(queues) == 0 || parallel < 1 {
		return fault.New(fault.Usage, "a host needs the name of a queue and room for at least one job")
	}
	return nil
}

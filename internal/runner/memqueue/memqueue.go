package memqueue

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
)

// Queue is the queue of one process.
type Queue struct {
	host   string
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	serves sync.WaitGroup

	mu     sync.Mutex // guards what follows
	moved  *sync.Cond
	live   map[string]*attempt   // waiting or being done
	lines  map[string][]*attempt // those that wait, by queue, the oldest first
	number int64
}

// attempt is one that waits or is being done.
type attempt struct {
	job       runner.Enqueued
	number    int64              // the lower, the older
	cancel    context.CancelFunc // ends what does it; nil: it waits
	cancelled bool
	again     bool // it was enqueued again while it was ending after a Cancel
}

var (
	_ runner.Queue = (*Queue)(nil)
	_ runner.Host  = (*Queue)(nil)
)

// New makes an empty queue.
func New() *Queue {
	q := &Queue{host: "process-" + uuid.NewString(), live: map[string]*attempt{}, lines: map[string][]*attempt{}}
	q.ctx, q.stop = context.WithCancel(context.Background())
	q.moved = sync.NewCond(&q.mu)
	return q
}

// Host is the name under which this process does attempts.
func (q *Queue) Host() string { return q.host }

// Close ends every Serve and waits for it.
func (q *Queue) Close() error {
	q.mu.Lock()
	q.stop()
	q.mu.Unlock()
	q.serves.Wait()
	return nil
}

// Enqueue lets attempts wait.
func (q *Queue) Enqueue(_ context.Context, attempts ...runner.Enqueued) error {
	if err := runner.CheckEnqueued(attempts); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.open(); err != nil {
		return err
	}
	for _, j := range attempts {
		if t := q.live[j.ID]; t == nil {
			q.add(j)
		} else {
			t.again = t.cancelled
		}
	}
	return nil
}

// Cancel takes an attempt out, or ends the context of whoever does it.
func (q *Queue) Cancel(_ context.Context, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.live[id]
	if t == nil {
		return nil
	}
	t.cancelled, t.again = true, false
	if t.cancel == nil {
		delete(q.live, id) // its place in the line is skipped
	} else {
		t.cancel()
	}
	return nil
}

// Takeover has nothing to give back: there is no host but this process.
func (q *Queue) Takeover(context.Context, string) ([]string, error) { return nil, nil }

// open says whether verbs make sense still. The caller holds mu.
func (q *Queue) open() error {
	if q.ctx.Err() != nil {
		return fault.New(fault.Conflict, "the queue is closed")
	}
	return nil
}

// add puts an attempt at the end of its line. The caller holds mu.
func (q *Queue) add(j runner.Enqueued) {
	q.number++
	t := &attempt{job: j, number: q.number}
	q.live[j.ID] = t
	q.lines[j.Queue] = append(q.lines[j.Queue], t)
	q.moved.Broadcast()
}

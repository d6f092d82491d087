package runner

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
)

// MemoryQueue is the queue of a run that one process carries out. Nothing is stored: the log says what waits,
// and the next process enqueues it again. An attempt that is enqueued while a place is free begins at once. After
// Close nothing of it is left.
type MemoryQueue struct {
	host   string
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	serves sync.WaitGroup

	mu     sync.Mutex // guards what follows
	moved  *sync.Cond
	live   map[string]*queuedAttempt   // waiting or being done
	lines  map[string][]*queuedAttempt // those that wait, by queue, the oldest first
	number int64
}

// queuedAttempt is one that waits or is being done.
type queuedAttempt struct {
	job       Enqueued
	number    int64              // the lower, the older
	cancel    context.CancelFunc // ends what does it; nil: it waits
	cancelled bool
	again     bool // it was enqueued again while it was ending after a Cancel
}

var (
	_ Queue = (*MemoryQueue)(nil)
	_ Host  = (*MemoryQueue)(nil)
)

// NewMemoryQueue makes an empty queue.
func NewMemoryQueue() *MemoryQueue {
	q := &MemoryQueue{host: "process-" + uuid.NewString(), live: map[string]*queuedAttempt{}, lines: map[string][]*queuedAttempt{}}
	q.ctx, q.stop = context.WithCancel(context.Background())
	q.moved = sync.NewCond(&q.mu)
	return q
}

// Host is the name under which this process does attempts.
func (q *MemoryQueue) Host() string { return q.host }

// Close ends every Serve and waits for it.
func (q *MemoryQueue) Close() error {
	q.mu.Lock()
	q.stop()
	q.mu.Unlock()
	q.serves.Wait()
	return nil
}

// Enqueue lets attempts wait.
func (q *MemoryQueue) Enqueue(_ context.Context, attempts ...Enqueued) error {
	if err := CheckEnqueued(attempts); err != nil {
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
func (q *MemoryQueue) Cancel(_ context.Context, id string) error {
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
func (q *MemoryQueue) Takeover(context.Context, string) ([]string, error) { return nil, nil }

// open reports whether verbs make sense still. The caller holds mu.
func (q *MemoryQueue) open() error {
	if q.ctx.Err() != nil {
		return fault.New(fault.Conflict, "the queue is closed")
	}
	return nil
}

// add puts an attempt at the end of its line. The caller holds mu.
func (q *MemoryQueue) add(j Enqueued) {
	q.number++
	t := &queuedAttempt{job: j, number: q.number}
	q.live[j.ID] = t
	q.lines[j.Queue] = append(q.lines[j.Queue], t)
	q.moved.Broadcast()
}

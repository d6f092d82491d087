package runner

import (
	"context"
	"slices"
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

	mu    sync.Mutex // guards what follows
	moved *sync.Cond
	live  map[string]*queuedAttempt // waiting or being done
	line  []*queuedAttempt          // those that wait, the oldest first
}

// queuedAttempt is one that waits or is being done.
type queuedAttempt struct {
	job       Enqueued
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
	q := &MemoryQueue{host: "process-" + uuid.NewString(), live: map[string]*queuedAttempt{}}
	q.ctx, q.stop = context.WithCancel(context.Background())
	q.moved = sync.NewCond(&q.mu)
	return q
}

// Host returns the name under which this process does attempts.
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

// Cancel takes an attempt out, or ends the context of the goroutine that does it.
func (q *MemoryQueue) Cancel(_ context.Context, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.live[id]
	if t == nil {
		return nil
	}
	t.cancelled, t.again = true, false
	if t.cancel == nil {
		delete(q.live, id)
		q.line = slices.DeleteFunc(q.line, func(other *queuedAttempt) bool { return other == t })
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

// add puts an attempt at the end of the line. The caller holds mu.
func (q *MemoryQueue) add(j Enqueued) {
	t := &queuedAttempt{job: j}
	q.live[j.ID] = t
	q.line = append(q.line, t)
	q.moved.Broadcast()
}

// Serve does jobs until ctx ends or the queue is closed.
func (q *MemoryQueue) Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j Enqueued) error) error {
	if err := CheckServe(queues, parallel); err != nil {
		return err
	}
	q.mu.Lock()
	err := q.open()
	if err == nil {
		q.serves.Add(1)
	}
	q.mu.Unlock()
	if err != nil {
		return err
	}
	defer q.serves.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { // those that wait for a job look, and return
		q.mu.Lock()
		defer q.mu.Unlock()
		q.moved.Broadcast()
	})()
	var places sync.WaitGroup
	for range parallel {
		places.Go(func() {
			for {
				t, its := q.next(ctx, queues)
				if t == nil {
					return
				}
				q.over(ctx, t, do(its, t.job))
			}
		})
	}
	places.Wait()
	return nil
}

// next waits for the job that has waited longest in some queues, and takes it with a
// context of its own. Nothing: ctx ended.
func (q *MemoryQueue) next(ctx context.Context, queues []string) (*queuedAttempt, context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil {
		if i := slices.IndexFunc(q.line, func(t *queuedAttempt) bool { return slices.Contains(queues, t.job.Queue) }); i >= 0 {
			t := q.line[i]
			q.line = slices.Delete(q.line, i, i+1)
			its, cancel := context.WithCancel(ctx)
			t.cancel = cancel
			return t, its
		}
		q.moved.Wait()
	}
	return nil, nil
}

// over forgets a task that was done, or lets it wait again: Serve ended before it did.
func (q *MemoryQueue) over(ctx context.Context, t *queuedAttempt, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t.cancel()
	delete(q.live, t.job.ID)
	if t.again || err != nil && ctx.Err() != nil && !t.cancelled {
		q.add(t.job)
	}
}

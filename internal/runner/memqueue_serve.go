package runner

import (
	"context"
	"sync"
)

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
	defer context.AfterFunc(ctx, func() { // whoever waits for a job looks, and goes
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
		if t := q.first(queues); t != nil {
			its, cancel := context.WithCancel(ctx)
			t.cancel = cancel
			return t, its
		}
		q.moved.Wait()
	}
	return nil, nil
}

// first takes the oldest task out of its line. The caller holds mu.
func (q *MemoryQueue) first(queues []string) *queuedAttempt {
	var first *queuedAttempt
	for _, name := range queues {
		line := q.lines[name]
		for len(line) > 0 && line[0].cancelled {
			line[0], line = nil, line[1:]
		}
		q.lines[name] = line
		if len(line) == 0 {
			delete(q.lines, name)
		} else if first == nil || line[0].number < first.number {
			first = line[0]
		}
	}
	if first != nil {
		line := q.lines[first.job.Queue]
		line[0], q.lines[first.job.Queue] = nil, line[1:]
	}
	return first
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

package dbosqueue

import (
	"context"
	"sync"

	"ramet/internal/runner"
)

// task is a job that waits or is being done in this process.
type task struct {
	job    runner.Job
	number int64 // its place: the lower, the earlier
	again  bool  // hand it out even if it ended before

	running   bool
	cancelled bool
	resumed   bool               // while it was still ending after a Cancel
	cancel    context.CancelFunc // ends what does it
	started   chan struct{}      // closed when the handler is called
	do        func(context.Context, runner.Job) error
	ctx       context.Context
	err       error // of the handler
}

// lines are the jobs that wait, in their order, by queue.
type lines struct {
	mu     sync.Mutex
	moved  *sync.Cond
	live   map[string]*task      // waiting or being done
	held   map[string]runner.Job // cancelled, and not resumed
	waits  map[string][]*task
	number int64
}

func newLines() *lines {
	l := &lines{live: map[string]*task{}, held: map[string]runner.Job{}, waits: map[string][]*task{}}
	l.moved = sync.NewCond(&l.mu)
	return l
}

// add puts a job at the end of its line. The caller holds mu.
func (l *lines) add(j runner.Job, again bool) {
	l.number++
	t := &task{job: j, number: l.number, again: again, started: make(chan struct{})}
	l.live[j.ID] = t
	l.waits[j.Queue] = append(l.waits[j.Queue], t)
	l.moved.Broadcast()
}

// next waits for the job that has waited longest in some queues, and takes it. Nothing:
// ctx ended.
func (l *lines) next(ctx context.Context, queues []string) (*task, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.moved.Broadcast()
	})()
	for ctx.Err() == nil {
		if t := l.first(queues); t != nil {
			t.running = true
			return t, true
		}
		l.moved.Wait()
	}
	return nil, false
}

func (l *lines) first(queues []string) *task {
	var first *task
	for _, name := range queues {
		line := l.waits[name]
		for len(line) > 0 && line[0].cancelled {
			line[0], line = nil, line[1:]
		}
		l.waits[name] = line
		if len(line) == 0 {
			delete(l.waits, name)
		} else if first == nil || line[0].number < first.number {
			first = line[0]
		}
	}
	if first != nil {
		line := l.waits[first.job.Queue]
		line[0], l.waits[first.job.Queue] = nil, line[1:]
	}
	return first
}

// over forgets a task that was being done, or lets it wait again.
func (l *lines) over(t *task, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, t.job.ID)
	switch {
	case t.cancelled && !t.resumed:
		l.held[t.job.ID] = t.job
	case again || t.resumed:
		l.add(t.job, true)
	}
}

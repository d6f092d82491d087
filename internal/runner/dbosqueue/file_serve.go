package dbosqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

// elsewhere is how long a workflow that we started may take to begin; if it has not,
// somebody else has it.
const elsewhere = 10 * time.Second

// Serve does jobs until ctx ends, or the file fails.
func (f *File) Serve(ctx context.Context, queues []string, parallel int, do func(ctx context.Context, j runner.Job) error) error {
	if err := checkServe(queues, parallel); err != nil {
		return err
	}
	f.mu.Lock()
	err := f.open(ctx)
	if err == nil {
		f.serves.Add(1)
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	defer f.serves.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(f.stopped, func() { cancel(nil) })()

	var workers sync.WaitGroup
	failures := make([]error, parallel)
	for i := range parallel {
		workers.Go(func() {
			for failures[i] == nil {
				t, ok := f.next(ctx, queues)
				if !ok {
					return
				}
				if failures[i] = f.hand(ctx, t, do); failures[i] != nil {
					cancel(failures[i]) // the others end what they are doing
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(failures...)
}

type taskKey struct{}

// hand has one job done. An error is the file's.
func (f *File) hand(ctx context.Context, t *task, do func(context.Context, runner.Job) error) error {
	ours, cancel := context.WithCancel(ctx)
	defer cancel()
	id := t.job.ID
	f.mu.Lock()
	t.ctx, t.cancel, t.do = ours, cancel, do
	f.mu.Unlock()

	// Not with ctx: what is being written is written to its end.
	wanted, err := f.wanted(context.WithoutCancel(ctx), t)
	if err != nil {
		f.over(t, true)
		return f.fail("start "+id, err)
	}
	if !wanted {
		f.over(t, false)
		return nil
	}
	handle, err := dbos.RunWorkflow(dbos.WithValue(f.engine, taskKey{}, t), f.work, stored{RunID: t.job.RunID, Queue: t.job.Queue}, dbos.WithWorkflowID(id))
	if err != nil {
		f.over(t, true)
		return f.fail("start "+id, err)
	}
	for {
		_, err := handle.GetResult(dbos.WithHandleTimeout(elsewhere))
		begun := closed(t.started)
		if !errors.Is(err, dbos.ErrTimeout) || !begun {
			f.mu.Lock()
			interrupted := begun && t.err != nil && ctx.Err() != nil && !t.cancelled
			f.mu.Unlock()
			f.over(t, interrupted)
			return nil
		}
	}
}

// wanted makes room for the row of a task, or says that it has been done.
func (f *File) wanted(ctx context.Context, t *task) (bool, error) {
	row, found, err := rowOf(ctx, f.engine, t.job.ID)
	if err != nil || !found {
		return err == nil, err
	}
	if !t.again && (row.Status == dbos.WorkflowStatusSuccess || row.Status == dbos.WorkflowStatusCancelled) {
		return false, nil
	}
	return true, dbos.DeleteWorkflows(as(f.engine, ctx), []string{t.job.ID})
}

// work is the workflow: it hands a job to whoever serves.
func (f *File) work(ctx dbos.Context, _ stored) (struct{}, error) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok { // nobody here started it
		return struct{}{}, outcome(fault.New(fault.Interrupted, "started by nobody"))
	}
	f.mu.Lock()
	unwanted := t.cancelled
	f.mu.Unlock()
	close(t.started)
	if unwanted {
		t.err = fault.New(fault.Cancelled, "cancelled")
	} else {
		// The caller's context, not DBOS's, so that what he calls is no part of the workflow.
		t.err = t.do(t.ctx, t.job)
	}
	return struct{}{}, outcome(t.err)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

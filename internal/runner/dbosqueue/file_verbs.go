package dbosqueue

import (
	"context"
	"errors"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

// Enqueue lets a job wait. Whether its id ended before is looked up when its turn comes.
func (f *File) Enqueue(ctx context.Context, j runner.Job) error {
	if err := errors.Join(checkJob(j), f.open(ctx)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, held := f.held[j.ID]; !held && f.live[j.ID] == nil {
		f.add(j, false)
	}
	return nil
}

// Cancel takes a job out, or ends the context of whoever does it.
func (f *File) Cancel(ctx context.Context, id string) error {
	if err := f.open(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	t := f.live[id]
	if t == nil {
		f.mu.Unlock()
		return nil
	}
	t.cancelled = true
	if !t.running {
		delete(f.live, id)
		f.held[id] = t.job
		f.mu.Unlock()
		return nil
	}
	stop := t.cancel
	f.mu.Unlock()
	if stop == nil {
		return nil // about to be started: it sees that it is not wanted
	}
	// The row first: a handler that ends now must not be noted as one that did it.
	err := dbos.CancelWorkflow(as(f.engine, ctx), id)
	stop()
	if errors.Is(err, dbos.ErrNonExistentWorkflow) {
		return nil
	}
	return f.fail("cancel "+id, err)
}

// Resume lets a job wait again. One that is being done goes on.
func (f *File) Resume(ctx context.Context, id string) error {
	if err := f.open(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	if j, held := f.held[id]; held {
		delete(f.held, id)
		f.add(j, true)
	}
	t := f.live[id]
	if t != nil {
		t.resumed = t.resumed || t.running && t.cancelled
	}
	f.mu.Unlock()
	if t != nil {
		return nil
	}
	row, found, err := rowOf(ctx, f.engine, id)
	if err != nil {
		return f.fail("resume "+id, err)
	}
	if !found {
		return fault.New(fault.NotFound, "%s: no job %s", f.path, id).WithHint("enqueue it")
	}
	_, err = f.addRows([]dbos.WorkflowStatus{row})
	return err
}

// Takeover lets wait again what an earlier process did not end.
func (f *File) Takeover(ctx context.Context, host string) ([]string, error) {
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	rows, err := dbos.ListWorkflows(as(f.engine, ctx), dbos.WithFilterExecutorIDs(host), dbos.WithFilterLoadInput(true), dbos.WithFilterLoadOutput(false),
		dbos.WithFilterStatus(dbos.WorkflowStatusPending, dbos.WorkflowStatusEnqueued))
	if err != nil {
		return nil, f.fail("take over "+host, err)
	}
	return f.addRows(rows)
}

func (f *File) addRows(rows []dbos.WorkflowStatus) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []string
	for _, row := range rows {
		if _, held := f.held[row.ID]; held || f.live[row.ID] != nil {
			continue
		}
		j, err := jobOf(row)
		if err != nil {
			return ids, err
		}
		f.add(j, true)
		ids = append(ids, j.ID)
	}
	return ids, nil
}

// open says whether verbs make sense still.
func (f *File) open(ctx context.Context) error {
	if f.stopped.Err() != nil {
		return fault.New(fault.Conflict, "%s: the queue is closed", f.path)
	}
	return ctx.Err()
}

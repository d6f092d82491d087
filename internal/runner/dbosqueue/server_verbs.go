package dbosqueue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

// Enqueue lets a job wait for any host. That it waits is heard when it is committed.
func (s *Server) Enqueue(ctx context.Context, j runner.Job) error {
	if err := checkJob(j); err != nil {
		return err
	}
	return s.persist(ctx, "enqueue "+j.ID, func() error {
		err := s.enqueue(ctx, j)
		if !errors.Is(err, errKnown) {
			return err
		}
		// It was there before. If it was given back with an error, it was not done.
		row, found, err := rowOf(ctx, s.client, j.ID)
		if err != nil || !found || row.Status != dbos.WorkflowStatusError {
			return err
		}
		return s.replace(ctx, j)
	})
}

var errKnown = errors.New("the job is known")

func (s *Server) enqueue(ctx context.Context, j runner.Job) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var known bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+s.table("workflow_status")+` WHERE workflow_uuid = $1)`, j.ID).Scan(&known); err != nil {
			return err
		}
		if known {
			return errKnown
		}
		_, err := dbos.Enqueue[struct{}](as(s.client, ctx), linePrefix+j.Queue, workflow, stored{RunID: j.RunID, Queue: j.Queue},
			dbos.WithEnqueueWorkflowID(j.ID), dbos.WithEnqueueTransaction(tx))
		if errors.Is(err, dbos.ErrUnexpectedWorkflow) {
			return errKnown // since the look above
		}
		if err != nil {
			return err
		}
		return s.ring(ctx, tx, rungJobs)
	})
}

// replace has a job that ended wait again.
func (s *Server) replace(ctx context.Context, j runner.Job) error {
	if err := dbos.DeleteWorkflows(as(s.client, ctx), []string{j.ID}); err != nil {
		return err
	}
	err := s.enqueue(ctx, j)
	if errors.Is(err, errKnown) {
		return nil // somebody else was faster
	}
	return err
}

// Cancel takes a job out, or ends the context of whoever does it: here at once, on other
// hosts as soon as they hear of it.
func (s *Server) Cancel(ctx context.Context, id string) error {
	return s.persist(ctx, "cancel "+id, func() error {
		err := dbos.CancelWorkflow(as(s.client, ctx), id)
		if errors.Is(err, dbos.ErrNonExistentWorkflow) {
			return nil
		}
		if err != nil {
			return err
		}
		s.endHere(id)
		return s.ring(ctx, s.pool, rungEnd+" "+id)
	})
}

// Resume lets a job wait again. One that this process is doing goes on; of one that
// another host does, the caller knows that the host is dead.
func (s *Server) Resume(ctx context.Context, id string) error {
	return s.persist(ctx, "resume "+id, func() error {
		row, found, err := rowOf(ctx, s.client, id)
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, "%s: no job %s", s.pg.Place, id).WithHint("enqueue it")
		}
		j, err := jobOf(row)
		if err != nil {
			return err
		}
		switch {
		case row.Status == dbos.WorkflowStatusSuccess || row.Status == dbos.WorkflowStatusError:
			return s.replace(ctx, j)
		case row.Status == dbos.WorkflowStatusEnqueued || row.Status == dbos.WorkflowStatusPending && s.doneHere(id):
			return nil
		}
		return s.giveBack(ctx, []runner.Job{j})
	})
}

// Takeover gives back what a dead host did, and what it had put aside for itself.
func (s *Server) Takeover(ctx context.Context, host string) ([]string, error) {
	var ids []string
	err := s.persist(ctx, "take over "+host, func() error {
		jobs, err := s.jobsOf(ctx, host)
		if err == nil && len(jobs) > 0 {
			err = s.giveBack(ctx, jobs)
		}
		if err != nil {
			return err
		}
		ids = nil
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		if host == s.host {
			return nil
		}
		return dbos.DeleteQueue(as(s.client, ctx), hostPrefix+host)
	})
	return ids, err
}

// jobsOf lists what a host does or has put aside.
func (s *Server) jobsOf(ctx context.Context, host string) ([]runner.Job, error) {
	full := []dbos.ListWorkflowsOption{dbos.WithFilterName(workflow), dbos.WithFilterLoadInput(true), dbos.WithFilterLoadOutput(false)}
	doing, err := dbos.ListWorkflows(as(s.client, ctx), append(full, dbos.WithFilterExecutorIDs(host), dbos.WithFilterStatus(dbos.WorkflowStatusPending))...)
	if err != nil {
		return nil, err
	}
	aside, err := dbos.ListWorkflows(as(s.client, ctx), append(full, dbos.WithFilterQueueName(hostPrefix+host), dbos.WithFilterStatus(dbos.WorkflowStatusEnqueued))...)
	if err != nil {
		return nil, err
	}
	var jobs []runner.Job
	for _, row := range append(doing, aside...) {
		j, err := jobOf(row)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// giveBack puts jobs back into the lines they came from.
func (s *Server) giveBack(ctx context.Context, jobs []runner.Job) error {
	lines := map[string][]string{}
	for _, j := range jobs {
		lines[j.Queue] = append(lines[j.Queue], j.ID)
	}
	for _, queue := range slices.Sorted(maps.Keys(lines)) {
		if _, err := dbos.ResumeWorkflows[struct{}](as(s.client, ctx), lines[queue], dbos.WithResumeQueue(linePrefix+queue)); err != nil {
			return err
		}
	}
	return s.ring(ctx, s.pool, rungJobs)
}

// Clear forgets the jobs of a run that is over.
func (s *Server) Clear(ctx context.Context, runID string) error {
	if runID == "" || strings.ContainsRune(runID, ':') {
		return fault.New(fault.InvalidID, "%.80q is not the id of a run", runID)
	}
	const most = 1000 // at a time
	return s.persist(ctx, "clear "+runID, func() error {
		for {
			rows, err := dbos.ListWorkflows(as(s.client, ctx), dbos.WithFilterWorkflowIDPrefix(runID+":"), dbos.WithFilterLimit(most),
				dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
			if err != nil || len(rows) == 0 {
				return err
			}
			ids := make([]string, len(rows))
			for i, row := range rows {
				ids[i] = row.ID
			}
			if err := dbos.DeleteWorkflows(as(s.client, ctx), ids); err != nil {
				return err
			}
		}
	})
}

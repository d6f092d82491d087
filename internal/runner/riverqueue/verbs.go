package riverqueue

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"ramet/internal/run"
	"ramet/internal/runner"
)

// page limits the rows that are read or changed at a time.
const page = 1000

// Enqueue lets jobs wait for any host, all or none of them.
func (q *Queue) Enqueue(ctx context.Context, jobs ...runner.Enqueued) error {
	if err := runner.CheckEnqueued(jobs); err != nil {
		return err
	}
	var all []args
	seen := map[string]bool{}
	for _, j := range jobs {
		if !seen[j.ID] {
			seen[j.ID] = true
			all = append(all, args{ID: j.ID, RunID: j.RunID, Queue: j.Queue})
		}
	}
	return q.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error { return q.put(ctx, tx, all) })
	})
}

// put inserts jobs that are not there. One that ended is replaced; one that was given up
// while a host did it continues in the next round.
func (q *Queue) put(ctx context.Context, tx pgx.Tx, jobs []args) error {
	for len(jobs) > 0 {
		now := jobs[:min(len(jobs), page)]
		jobs = jobs[len(now):]
		params := make([]river.InsertManyParams, len(now))
		for i, a := range now {
			params[i] = insertParams(a)
		}
		results, err := q.insert(ctx, tx, params)
		if err != nil {
			return err
		}
		for i, r := range results {
			switch next := now[i]; {
			case !r.UniqueSkippedAsDuplicate:
			case hasEnded(r.Job):
				if _, err := q.client.JobDeleteTx(ctx, tx, r.Job.ID); err != nil && !errors.Is(err, river.ErrNotFound) {
					return err
				}
				jobs = append(jobs, next)
			case isAbandoned(r.Job):
				next.Round++
				jobs = append(jobs, next)
			}
		}
	}
	return nil
}

// Cancel takes a job out, or ends its context: River notifies its host.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	return q.persist(ctx, func(ctx context.Context) error {
		for row, err := range q.rows(ctx, river.NewJobListParams().Metadata(string(label{ID: id}.json()))) {
			if err != nil {
				return err
			}
			if hasEnded(row) || isAbandoned(row) {
				continue
			}
			err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
				_, err := q.drop(ctx, tx, row.ID)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// drop cancels a row and marks it if it is being done. ok: it was not over.
func (q *Queue) drop(ctx context.Context, tx pgx.Tx, id int64) (ok bool, err error) {
	row, err := q.client.JobCancelTx(ctx, tx, id)
	if errors.Is(err, river.ErrNotFound) || err == nil && (hasEnded(row) || isAbandoned(row)) {
		return false, nil
	}
	if err == nil {
		_, err = q.client.JobUpdateTx(ctx, tx, id, &river.JobUpdateParams{Output: givenUp})
	}
	return true, err
}

// Takeover puts in again what a dead host had.
func (q *Queue) Takeover(ctx context.Context, host string) ([]string, error) {
	var ids []string
	err := q.persist(ctx, func(ctx context.Context) error {
		ids = nil
		var lost []*rivertype.JobRow
		for row, err := range q.taken(ctx, clientName(host)) {
			if err != nil {
				return err
			}
			lost = append(lost, row)
		}
		return q.putAgain(ctx, lost, func(id string) { ids = append(ids, id) })
	})
	return ids, err
}

// putAgain continues jobs whose rows are not worked at in other rows.
func (q *Queue) putAgain(ctx context.Context, rows []*rivertype.JobRow, told func(id string)) error {
	for _, row := range rows {
		a, err := argsOf(row)
		if err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
			had, err := q.drop(ctx, tx, row.ID)
			if err != nil || !had {
				return err // it ended, or another host was faster
			}
			told(a.ID)
			return q.put(ctx, tx, []args{a})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Clear forgets the jobs of a run that is over. Rows that a host is at are cancelled, and
// River deletes them later.
func (q *Queue) Clear(ctx context.Context, runID string) error {
	if err := run.CheckRunID(runID); err != nil {
		return err
	}
	params := river.NewJobListParams().Metadata(string(label{RunID: runID}.json()))
	return q.persist(ctx, func(ctx context.Context) error {
		for { // some may begin while others are deleted
			var ids []int64
			for row, err := range q.rows(ctx, params) {
				if err == nil && row.State == rivertype.JobStateRunning {
					_, err = q.client.JobCancel(ctx, row.ID)
				} else if err == nil {
					ids = append(ids, row.ID)
				}
				if err != nil && !errors.Is(err, river.ErrNotFound) {
					return err
				}
			}
			if len(ids) == 0 {
				return nil
			}
			for some := range slices.Chunk(ids, page) {
				if _, err := q.client.JobDeleteMany(ctx, river.NewJobDeleteManyParams().IDs(some...).First(page)); err != nil {
					return err
				}
			}
		}
	})
}

// taken lists the rows that a client of River is doing, but for those that were given up.
func (q *Queue) taken(ctx context.Context, client string) iter.Seq2[*rivertype.JobRow, error] {
	params := river.NewJobListParams().States(rivertype.JobStateRunning).
		Where(`@client = ANY(attempted_by)`, river.NamedArgs{"client": client}) // the last of them counts
	return func(yield func(*rivertype.JobRow, error) bool) {
		for row, err := range q.rows(ctx, params) {
			if err == nil && (!takenBy(row, client) || isAbandoned(row)) {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (q *Queue) rows(ctx context.Context, params *river.JobListParams) iter.Seq2[*rivertype.JobRow, error] {
	return func(yield func(*rivertype.JobRow, error) bool) {
		for params := params.First(page); ; {
			found, err := q.client.JobList(ctx, params)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range found.Jobs {
				if !yield(row, nil) {
					return
				}
			}
			if len(found.Jobs) < page {
				return
			}
			params = params.After(found.LastCursor)
		}
	}
}

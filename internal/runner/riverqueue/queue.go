package riverqueue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// patience limits how long an end may take.
const patience = 10 * time.Second

// Queue is the queue between hosts.
type Queue struct {
	host   string
	place  string // for people; never a password
	schema string
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx] // never started: it enqueues, cancels and lists
	pace   pace

	mu      sync.Mutex
	serving *service // what Serve is doing, if it is
	stopped bool
	serves  sync.WaitGroup
	closing sync.Once
}

var (
	_ runner.Queue = (*Queue)(nil)
	_ runner.Host  = (*Queue)(nil)
)

// Open opens the queue in a schema of its own next to the workspace's schema, and makes it
// if there is none. host names this process among all that are alive.
func Open(ctx context.Context, address, host string) (*Queue, error) {
	if host == "" || len(host) > 200 {
		return nil, fault.New(fault.Usage, "a host needs a name, at most 200 bytes: %.220q", host)
	}
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	q := &Queue{host: host, place: pg.Place, schema: companionSchema(pg.Schema)}
	if q.pool, err = pg.OpenPool(ctx); err != nil {
		return nil, q.fail(err)
	}
	err = database.Patience{Place: q.place, Tries: openTries}.Persist(ctx, q.migrate)
	if err == nil {
		q.client, err = q.newClient(&river.Config{FetchCooldown: told}, slog.DiscardHandler)
	}
	if err != nil {
		q.pool.Close()
		return nil, q.fail(err)
	}
	return q, nil
}

// newClient makes a client of River with what all have in common.
func (q *Queue) newClient(config *river.Config, log slog.Handler) (*river.Client[pgx.Tx], error) {
	config.Schema, config.Logger = q.schema, slog.New(log)
	config.FetchPollInterval = poll
	return river.NewClient(riverpgxv5.New(q.pool), config)
}

// tries limits the attempts at a verb while connections are lost. All may be repeated.
const tries = 30

// openTries limits how often we try to open the queue: some ten seconds, as the caller has
// reached the server before. A variable, so that tests need not wait.
var openTries = 12

// persist does a verb, over and over again while connections are lost.
func (q *Queue) persist(ctx context.Context, do func(ctx context.Context) error) error {
	q.mu.Lock()
	stopped := q.stopped && q.serving == nil
	q.mu.Unlock()
	if stopped {
		return q.errClosed()
	}
	return database.Patience{Place: q.place, Tries: tries}.Persist(ctx, do)
}

// fail turns an error of River or of the driver into a fault.
func (q *Queue) fail(err error) error { return database.Patience{Place: q.place}.Fault(err) }

// errClosed is the error of verbs that came too late.
func (q *Queue) errClosed() error {
	return fault.New(fault.Conflict, "%s: the queue is closed", q.place)
}

// Host is the name under which this process does jobs.
func (q *Queue) Host() string { return q.host }

// Close ends Serve, waits for it, and disconnects.
func (q *Queue) Close() error {
	q.closing.Do(func() {
		q.mu.Lock()
		q.stopped = true
		if q.serving != nil {
			q.serving.stop()
		}
		q.mu.Unlock()
		q.serves.Wait()
		q.pool.Close()
	})
	return nil
}

// What River takes for a schema, for a queue, and for the parts of a client's name.
var (
	schemaRule = text.Regexp(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	queueRule  = text.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	oddities   = text.Regexp(`[^a-zA-Z0-9._]+`)
)

// companionSchema names the schema that belongs to another: "ramet_river" to "ramet".
func companionSchema(schema string) string {
	const longest = 46 // of River's, so that its channels have names
	if name := schema + "_river"; len(name) <= longest && schemaRule().MatchString(name) {
		return name
	}
	return fmt.Sprintf("ramet_%x_river", shortSum(schema, 16))
}

// queueName returns what a queue is called in River.
func queueName(name string) string {
	if len(name) <= 60 && queueRule().MatchString(name) {
		return "q-" + name
	}
	return fmt.Sprintf("x-%x", shortSum(name, 16))
}

// clientName returns what a host is called in River: readable, and no other's.
func clientName(host string) string {
	plain := oddities().ReplaceAllString(host, "-")
	return fmt.Sprintf("h-%.60s-%x", plain, shortSum(host, 8))
}

func shortSum(text string, bytes int) []byte {
	all := sha256.Sum256([]byte(text))
	return all[:bytes]
}

// migrate has River make its tables, by one host at a time; it needs no right to make
// anything where they are.
func (q *Queue) migrate(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Schema: q.schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if done, err := upToDate(ctx, m); done || err != nil {
		return err
	}
	// River's steps are transactions of their own; this one only keeps others waiting.
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '1min'`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, database.SchemaLock); err != nil {
			return err
		}
		if done, err := upToDate(ctx, m); done || err != nil {
			return err // another host was faster
		}
		if _, err := q.pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{q.schema}.Sanitize()); err != nil {
			return err
		}
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
}

// upToDate reports whether River's tables are there. Those of a newer River are, too: it
// changes them so that an older one continues to work.
func upToDate(ctx context.Context, m *rivermigrate.Migrator[pgx.Tx]) (bool, error) {
	found, err := m.Validate(ctx, nil)
	return err == nil && found.OK, err
}

// args is a job as River keeps it.
type args struct {
	ID string `json:"id" river:"unique"`
	// Round counts how often the job lost its host. It makes the job another one for River.
	Round int    `json:"round" river:"unique"`
	RunID string `json:"run_id"`
	Queue string `json:"queue"`
}

func (args) Kind() string { return "ramet.item" }

// label is the metadata by which rows are found.
type label struct {
	ID    string `json:"ramet_id,omitempty"`
	RunID string `json:"ramet_run,omitempty"`
}

func (l label) json() []byte {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return data
}

// givenUp marks a row that River takes for running and that was abandoned.
const givenUp = "given up"

func isAbandoned(row *rivertype.JobRow) bool {
	return row.State == rivertype.JobStateRunning && len(row.Output()) > 0
}

func hasEnded(row *rivertype.JobRow) bool {
	switch row.State {
	case rivertype.JobStateCompleted, rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
		return true
	}
	return false
}

// takenBy reports whether a row is with a client of River.
func takenBy(row *rivertype.JobRow, client string) bool {
	n := len(row.AttemptedBy)
	return row.State == rivertype.JobStateRunning && n > 0 && row.AttemptedBy[n-1] == client
}

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
			// One attempt: whether there is another is for the log to say.
			params[i] = river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
				Queue: queueName(a.Queue), MaxAttempts: 1, Metadata: label{a.ID, a.RunID}.json(),
				UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()},
			}}
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
		var a args
		if err := json.Unmarshal(row.EncodedArgs, &a); err != nil {
			return fault.New(fault.StorageCorrupt, "row %d of the queue is not readable: %w", row.ID, err)
		}
		err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
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

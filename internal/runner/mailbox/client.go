package mailbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// Times. Variables, so that tests need not wait.
var (
	// netPoll is the interval of looking without a notification.
	netPoll = time.Second
	// leaseBeat is the interval in which an orchestrator renews its lease, and leaseTime after
	// how long it is taken for gone.
	leaseBeat = 3 * time.Second
	leaseTime = 15 * time.Second
	// attempt is the time that one try of a statement may take, a large content with it.
	attempt = 30 * time.Second
)

// maxConnectAttempts limits how often we try to open the post: some ten seconds, as the caller has
// reached the server before. A variable, so that tests need not wait.
var maxConnectAttempts = 12

// Client is a connection to the mailbox, for workers and orchestrators alike. For a worker
// it is the orchestrator.
type Client struct {
	config    *pgx.ConnConfig
	schema    string
	place     string // for people; never a password
	pool      *pgxpool.Pool
	listening sync.WaitGroup
	stop      context.CancelFunc

	mu      sync.Mutex
	waiting map[uuid.UUID]chan<- struct{} // for answers
	serving map[string]chan<- struct{}    // for requests, by run
	served  map[string]bool               // of runs that it has been at
}

var _ runner.Orchestrator = (*Client)(nil)

// Open connects to the mailbox of a workspace, and makes its tables if there are none.
func Open(ctx context.Context, address string) (*Client, error) {
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	c := &Client{config: pg.Config, schema: companionSchema(pg.Schema), place: pg.Place, waiting: map[uuid.UUID]chan<- struct{}{}, serving: map[string]chan<- struct{}{}, served: map[string]bool{}}
	c.config.RuntimeParams["search_path"] = pgx.Identifier{c.schema}.Sanitize()
	database.Watchful(c.config)
	if c.pool, err = pg.OpenPool(ctx); err != nil {
		return nil, c.fail(err)
	}
	opening := database.Patience{Place: c.place, Tries: maxConnectAttempts}
	if err := opening.Persist(ctx, c.migrate); err != nil {
		c.pool.Close()
		return nil, c.fail(err)
	}
	listen, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.listening.Go(func() { // a call that misses a notification looks by itself
		database.Listen(listen, c.config, false, c.wakeAll, func(channel, payload string) { c.wake(channel == c.asked(), payload) }, c.asked(), c.answered())
	})
	return c, nil
}

// Close disconnects. Calls under way end with an error.
func (c *Client) Close() error {
	c.stop()
	c.listening.Wait()
	c.pool.Close()
	return nil
}

// runOf returns the run that an item belongs to: the first part of its id.
func runOf(itemID string) (string, error) {
	if runID, _, ok := strings.Cut(itemID, ":"); ok {
		return runID, run.CheckRunID(runID)
	}
	return "", fault.New(fault.InvalidID, "%.100q is not the id of a work item", itemID)
}

// firstPause is the first delay before looking again.
const firstPause = 50 * time.Millisecond

// persist does something that may be done twice, until it is done, refused, or ctx ends.
func (c *Client) persist(ctx context.Context, do func(ctx context.Context) error) error {
	return database.Patience{Place: c.place, Attempt: attempt}.Persist(ctx, do)
}

// exec executes a statement that may be executed twice, as persist does, and returns the number of rows.
func (c *Client) exec(ctx context.Context, query string, args ...any) (rows int64, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		tag, err := c.pool.Exec(ctx, query, args...)
		rows = tag.RowsAffected()
		return err
	})
	return rows, err
}

// transaction does something in a transaction that may be done twice, as persist does.
func (c *Client) transaction(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return c.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// once does something that may as well not be done.
func (c *Client) once(ctx context.Context, query string, args ...any) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c.pool.Exec(ctx, query, args...)
}

// fail turns an error of the driver into a fault.
func (c *Client) fail(err error) error { return database.Patience{Place: c.place}.Fault(err) }

// asked and answered name the two channels. One carries ids of runs, the other ids of requests.
func (c *Client) asked() string    { return database.Channel("ramet_asked", c.schema) }
func (c *Client) answered() string { return database.Channel("ramet_answered", c.schema) }

func (c *Client) wake(asked bool, payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked {
		notify(c.serving[payload])
	} else if id, err := uuid.Parse(payload); err == nil {
		notify(c.waiting[id])
	}
}

func (c *Client) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.serving {
		notify(w)
	}
	for _, w := range c.waiting {
		notify(w)
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway; the channel may be nil
	}
}

// The tables, in a schema of their own next to the workspace's. Contents are not
// compressed: most are small, and the large ones are deleted soon.
const tables = waitForDisk + `;
CREATE TABLE requests (
	id       UUID PRIMARY KEY,
	run_id   TEXT NOT NULL,
	item_id  TEXT NOT NULL,
	verb     TEXT NOT NULL,
	body     BYTEA NOT NULL,
	asked_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX requests_of_run ON requests (run_id, asked_at);
CREATE TABLE answers (
	id          UUID PRIMARY KEY REFERENCES requests ON DELETE CASCADE,
	code        TEXT NOT NULL, -- of a fault; empty: done
	message     TEXT NOT NULL,
	hint        TEXT NOT NULL,
	body        BYTEA NOT NULL,
	answered_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE blobs (
	run_id TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	data   BYTEA NOT NULL,
	PRIMARY KEY (run_id, sha256)
);
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE desks (
	run_id  TEXT PRIMARY KEY,
	epoch   BIGINT NOT NULL,
	owner   UUID NOT NULL,
	seen_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE hosts (
	host     TEXT PRIMARY KEY,
	seen_at  TIMESTAMPTZ NOT NULL,
	queues   TEXT[] NOT NULL,
	parallel INTEGER NOT NULL,
	version  TEXT NOT NULL
);`

// handoverTables hold the records and files that another host needs to take a run over.
const handoverTables = waitForDisk + `;
CREATE TABLE wills (
	run_id TEXT PRIMARY KEY,
	body   BYTEA NOT NULL
);
CREATE TABLE files (
	run_id TEXT NOT NULL,
	path   TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	data   BYTEA NOT NULL,
	PRIMARY KEY (run_id, path)
);
ALTER TABLE files ALTER COLUMN data SET STORAGE EXTERNAL;`

// waitForDisk has a transaction wait for the disk.
const waitForDisk = `SET LOCAL synchronous_commit = on`

// companionSchema names the schema that belongs to another: "ramet_runs" to "ramet".
func companionSchema(schema string) string {
	if name := schema + "_runs"; len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%x_runs", sum[:16])
}

// migrate makes the schema if it is missing.
func (c *Client) migrate(ctx context.Context) error {
	db := stdlib.OpenDBFromPool(c.pool)
	defer db.Close() // the pool stays
	t := database.Tables{Place: c.place + ": schema " + c.schema, Schema: c.schema, Marker: "format", Steps: []string{tables, handoverTables}}
	return t.Migrate(ctx, db, nil)
}

// largest is the size of a content that is taken. PostgreSQL's own limit is 1 GB.
const largest = 256 << 20

// blob is a content by its hash.
type blob struct {
	sha256 string
	data   []byte
}

func newBlob(data []byte) (blob, error) {
	if len(data) > largest {
		return blob{}, fault.New(fault.OutputInvalid, "a file of %d bytes is too large to send, at most %d are allowed", len(data), largest)
	}
	if data == nil {
		data = []byte{}
	}
	return blob{chain.Sum(data).String(), data}, nil
}

// putBlobs writes contents in the order of their hashes, so that two transactions with the same ones do not
// deadlock.
func putBlobs(ctx context.Context, tx pgx.Tx, runID string, blobs []blob) error {
	for _, b := range slices.SortedFunc(slices.Values(blobs), func(a, b blob) int { return strings.Compare(a.sha256, b.sha256) }) {
		if _, err := tx.Exec(ctx, `INSERT INTO blobs (run_id, sha256, data) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, runID, b.sha256, b.data); err != nil {
			return err
		}
	}
	return nil
}

// read reads a content, if it is there.
func (c *Client) read(ctx context.Context, runID, sum string) (data []byte, found bool, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		return c.pool.QueryRow(ctx, `SELECT data FROM blobs WHERE run_id = $1 AND sha256 = $2`, runID, sum).Scan(&data)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	if chain.Sum(data).String() != sum {
		return nil, false, fault.New(fault.StorageCorrupt, "%s: the content %s of run %s was changed", c.place, sum, runID)
	}
	return data, true, nil
}

// Clear deletes all that the post holds of a run that is over.
func (c *Client) Clear(ctx context.Context, runID string) error {
	return c.clear(ctx, runID, "desks", "requests", "blobs", "wills", "files") // answers go with their requests
}

// ClearButFiles leaves the files of a run that ended on another host: the host that began it fetches them, and
// clears the rest.
func (c *Client) ClearButFiles(ctx context.Context, runID string) error {
	return c.clear(ctx, runID, "desks", "requests", "blobs", "wills")
}

func (c *Client) clear(ctx context.Context, runID string, tables ...string) error {
	return c.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		for _, table := range tables {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE run_id = $1`, runID); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutHandover stores the record that a host needs to take the run over, in place of the one before.
func (c *Client) PutHandover(ctx context.Context, runID string, body []byte) error {
	return c.durable(ctx, `INSERT INTO wills (run_id, body) VALUES ($1, $2) ON CONFLICT (run_id) DO UPDATE SET body = excluded.body`, runID, body)
}

// PutFile keeps a copy of a file of the run's folder. One that is too large is not kept: the
// next orchestrator has it made again.
func (c *Client) PutFile(ctx context.Context, runID, path string, data []byte) error {
	if len(data) > largest {
		return nil
	}
	b, err := newBlob(data)
	if err != nil {
		return err
	}
	return c.durable(ctx, `INSERT INTO files AS f (run_id, path, sha256, data) VALUES ($1, $2, $3, $4)
		ON CONFLICT (run_id, path) DO UPDATE SET sha256 = excluded.sha256, data = excluded.data WHERE f.sha256 <> excluded.sha256`, runID, path, b.sha256, b.data)
}

// Copied returns the hashes of the files that copies are kept of, by path.
func (c *Client) Copied(ctx context.Context, runID string) (sums map[string]string, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		rows, err := c.pool.Query(ctx, `SELECT path, sha256 FROM files WHERE run_id = $1`, runID)
		if err != nil {
			return err
		}
		sums = map[string]string{}
		var path, sum string
		_, err = pgx.ForEachRow(rows, []any{&path, &sum}, func() error { sums[path] = sum; return nil })
		return err
	})
	return sums, err
}

// durable executes a statement that may be executed twice, and returns when it is on the disk.
func (c *Client) durable(ctx context.Context, query string, args ...any) error {
	return c.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, waitForDisk); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Files hands over the copies that are not there yet, one at a time: there returns the hash that a
// file has now. A copy that is not what was put is STORAGE_CORRUPT.
func (c *Client) Files(ctx context.Context, runID string, there func(path string) (sha256 string, ok bool), take func(path string, data []byte) error) (taken int, err error) {
	sums, err := c.Copied(ctx, runID)
	if err != nil {
		return 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		if sum, ok := there(path); ok && sum == sums[path] {
			continue
		}
		var data []byte
		err := c.persist(ctx, func(ctx context.Context) error {
			return c.pool.QueryRow(ctx, `SELECT data FROM files WHERE run_id = $1 AND path = $2 AND sha256 = $3`, runID, path, sums[path]).Scan(&data)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			continue // replaced or cleared meanwhile
		}
		if err != nil {
			return taken, err
		}
		if chain.Sum(data).String() != sums[path] {
			return taken, fault.New(fault.StorageCorrupt, "%s: the copy of %s of run %s was changed", c.place, path, runID)
		}
		if err := take(path, data); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

// seenAgo is the column of the microseconds since a host or an orchestrator was seen.
const seenAgo = `(extract(epoch FROM clock_timestamp() - seen_at) * 1000000)::bigint`

// OrphanedRuns names the runs that another host may take over: their orchestrators left a handover record and are
// gone, without having released the run.
func (c *Client) OrphanedRuns(ctx context.Context, lease time.Duration) (runs []string, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		runs = nil
		rows, err := c.pool.Query(ctx, `SELECT run_id, `+seenAgo+` FROM desks JOIN wills USING (run_id) WHERE seen_at > '-infinity' ORDER BY run_id`)
		if err != nil {
			return err
		}
		var runID string
		var ago int64
		_, err = pgx.ForEachRow(rows, []any{&runID, &ago}, func() error {
			if ownerGone(ago, max(lease, leaseTime)) {
				runs = append(runs, runID)
			}
			return nil
		})
		return err
	})
	return runs, err
}

// ClaimHandover lets the caller take a run over for a lease, and returns the handover record. ok is
// false if its orchestrator is not gone, or another host was quicker. The orchestrator before, if it is alive after
// all, is refused from now on.
func (c *Client) ClaimHandover(ctx context.Context, runID string, lease time.Duration) (record []byte, ok bool, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		var owner uuid.UUID
		var at time.Time
		var ago int64
		err := c.pool.QueryRow(ctx, `SELECT owner, seen_at, `+seenAgo+` FROM desks WHERE run_id = $1 AND seen_at > '-infinity'`, runID).Scan(&owner, &at, &ago)
		if err == nil && ownerGone(ago, max(lease, leaseTime)) {
			err = c.pool.QueryRow(ctx, `WITH claimed AS (UPDATE desks SET seen_at = clock_timestamp(), owner = $4 WHERE run_id = $1 AND owner = $2 AND seen_at = $3 RETURNING run_id)
				SELECT body FROM wills JOIN claimed USING (run_id)`, runID, owner, at, uuid.New()).Scan(&record)
			ok = err == nil
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return record, ok, err
}

// Release records that a run has no orchestrator, and that any host may take it over.
func (c *Client) Release(ctx context.Context, runID string) {
	c.once(context.WithoutCancel(ctx), `UPDATE desks SET seen_at = 'epoch' WHERE run_id = $1`, runID)
}

// Host is a process that does items.
type Host struct {
	Name     string
	Queues   []string
	Parallel int
	Version  string        // of ramet
	Seen     time.Duration // ago, by the clock of the database
}

// Beat shows every third of a lease that a host is alive, until ctx ends. Then it takes
// the host off the list: it left, it did not die.
func (c *Client) Beat(ctx context.Context, h Host, lease time.Duration) error {
	if h.Name == "" || lease <= 0 {
		return fault.New(fault.Usage, "a host needs a name and a lease")
	}
	if h.Queues == nil {
		h.Queues = []string{}
	}
	tick := time.NewTicker(max(lease/3, time.Millisecond))
	defer tick.Stop()
	for {
		_, err := c.exec(ctx, `INSERT INTO hosts (host, seen_at, queues, parallel, version) VALUES ($1, clock_timestamp(), $2, $3, $4)
			ON CONFLICT (host) DO UPDATE SET seen_at = excluded.seen_at, queues = excluded.queues, parallel = excluded.parallel, version = excluded.version`,
			h.Name, h.Queues, h.Parallel, h.Version)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			c.once(context.WithoutCancel(ctx), `DELETE FROM hosts WHERE host = $1`, h.Name) // if it fails, it is taken for dead
			return nil
		case <-tick.C:
		}
	}
}

// Hosts lists the hosts, by name.
func (c *Client) Hosts(ctx context.Context) (hosts []Host, err error) {
	err = c.persist(ctx, func(ctx context.Context) error {
		rows, err := c.pool.Query(ctx, `SELECT host, queues, parallel, version, `+seenAgo+` FROM hosts ORDER BY host`)
		if err != nil {
			return err
		}
		hosts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Host, err error) {
			var ago int64
			err = row.Scan(&h.Name, &h.Queues, &h.Parallel, &h.Version, &ago)
			h.Seen = time.Duration(ago) * time.Microsecond
			return h, err
		})
		return err
	})
	return hosts, err
}

// Gone reports whether a host is gone: it was not seen for a lease.
func (h Host) Gone(lease time.Duration) bool { return ownerGone(h.Seen.Microseconds(), lease) }

// ownerGone reports whether the owner of a row is gone that was last seen so many microseconds ago, for hosts and desks.
func ownerGone(ago int64, lease time.Duration) bool {
	var now time.Time // only the time since counts: it is by the clock of the database
	until := now.Add(lease - time.Duration(ago)*time.Microsecond)
	return agent.OwnerGone(agent.Lease{Owner: "a process", Until: until}, now, agent.CannotKnow)
}

// Forget takes a dead host off the list, when its jobs are given back. One that was
// seen within the lease again stays.
func (c *Client) Forget(ctx context.Context, host string, lease time.Duration) error {
	_, err := c.exec(ctx, `DELETE FROM hosts WHERE host = $1 AND seen_at < clock_timestamp() - make_interval(secs => $2)`, host, lease.Seconds())
	return err
}

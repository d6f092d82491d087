package mailbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
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
	if err := opening.Persist(ctx, func(ctx context.Context) error { return c.migrate(ctx) }); err != nil {
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
	for i := range len(itemID) {
		if itemID[i] == ':' {
			return itemID[:i], run.CheckRunID(itemID[:i])
		}
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

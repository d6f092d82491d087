package riverqueue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
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
	if q.pool, err = connectPool(ctx, pg); err != nil {
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

// connectPool opens the connections of a queue.
func connectPool(ctx context.Context, pg database.Postgres) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(pg.Config.ConnString())
	if err != nil {
		return nil, err
	}
	config.ConnConfig = pg.Config.Copy()
	database.Watchful(config.ConnConfig)
	// What is lost when the server crashes is in the log: no commit waits for its disk.
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	config.MaxConns, config.MaxConnIdleTime = 8, 5*time.Minute
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
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

package riverqueue

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"ramet/internal/database"
	"ramet/internal/fault"
	"ramet/internal/runner"
)

// patience is how long an end may take.
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

// Open opens the queue in a schema of its own beside the workspace's schema, and makes it
// if there is none. host names this process among all that are alive.
func Open(ctx context.Context, address, host string) (*Queue, error) {
	if host == "" || len(host) > 200 {
		return nil, fault.New(fault.Usage, "a host needs a name, at most 200 bytes: %.220q", host)
	}
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	q := &Queue{host: host, place: pg.Place, schema: besides(pg.Schema)}
	if q.pool, err = connect(ctx, pg); err != nil {
		return nil, q.fail("open the queue", err)
	}
	err = q.migrate(ctx)
	if err == nil {
		q.client, err = q.newClient(&river.Config{FetchCooldown: told})
	}
	if err != nil {
		q.pool.Close()
		return nil, q.fail("open the queue", err)
	}
	return q, nil
}

// connect opens connections that notice a server which vanished without a word.
func connect(ctx context.Context, pg database.Postgres) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(pg.Config.ConnString())
	if err != nil {
		return nil, err
	}
	config.ConnConfig = pg.Config.Copy()
	config.ConnConfig.DialFunc = (&net.Dialer{Timeout: patience, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}).DialContext
	config.ConnConfig.ConnectTimeout = patience
	// What is lost when the server crashes is in the log: nobody waits for its disk.
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	config.MaxConns, config.MaxConnIdleTime = 8, 5*time.Minute
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
}

// newClient makes a client of River with what all have in common.
func (q *Queue) newClient(config *river.Config) (*river.Client[pgx.Tx], error) {
	config.Schema, config.Logger = q.schema, slog.New(slog.DiscardHandler)
	config.FetchPollInterval = poll
	return river.NewClient(riverpgxv5.New(q.pool), config)
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

package mailbox

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
	// Messages that are lost when the server crashes are sent again: no client waits for its disk.
	c.config.RuntimeParams["synchronous_commit"] = "off"
	database.Watchful(c.config)
	config, err := pgxpool.ParseConfig(pg.Config.ConnString())
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the PostgreSQL URL is not understood") // unreachable: it was read before
	}
	config.ConnConfig, config.MaxConns, config.MaxConnIdleTime = c.config.Copy(), 8, 5*time.Minute
	if c.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return nil, c.fail(err)
	}
	opening := database.Patience{Place: c.place, Tries: maxConnectAttempts}
	if err := opening.Persist(ctx, func(ctx context.Context) error { return c.migrate(ctx) }); err != nil {
		c.pool.Close()
		return nil, c.fail(err)
	}
	listen, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.listening.Go(func() { c.listen(listen) })
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

// listen wakes waiting calls, until ctx ends. One that misses a notification looks by itself.
func (c *Client) listen(ctx context.Context) {
	database.Listen(ctx, c.config, false, c.wakeAll, func(channel, payload string) { c.wake(channel == c.asked(), payload) }, c.asked(), c.answered())
}

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

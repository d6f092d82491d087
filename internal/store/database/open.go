package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/base/fault"
)

// patience returns how long to retry when a connection was lost or cannot be opened.
func patience() time.Duration { return seconds(8) }

// Open makes a handle; nothing is connected yet. Its connections are those of the driver,
// and besides:
//
//   - A transaction that writes knows its number from its first round trip on. When the
//     answer to a commit is lost, the server is asked on another connection what came of
//     it. So an error of Commit means that nothing was done, unless it is UNKNOWN_OUTCOME.
//   - No process waits without end: 10 s for a connection, and for as long as it waits for locks
//     and 10 s more for a server that says nothing. One that is busy with a reading, or with
//     what is done Unhurried, is waited for as long as it says so when asked.
//   - A server that is away for a moment is waited for, 8 s or the connect_timeout of the URL
//     if that is less: a reading that was cut is done again, if what was read of it is the same
//     then, and so is a transaction by Repeat. Who is refused for what it asked for is not kept waiting, nor is
//     one whose URL names a host that there is not.
//   - Who waits for two seconds is told for whom (Telling).
func (pg Postgres) Open(connections int) *sql.DB {
	db := sql.OpenDB(&connector{pg: pg})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// OpenPool opens a pool of connections for messages between hosts. No commit waits for its disk: what is lost when the
// server crashes is sent again. No connection is made yet.
func (pg Postgres) OpenPool(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(pg.Config.ConnString())
	if err != nil {
		return nil, err
	}
	config.ConnConfig, config.MaxConns, config.MaxConnIdleTime = pg.Config.Copy(), 8, 5*time.Minute
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	Watchful(config.ConnConfig)
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
}

// lockTimeout returns how long the server lets a statement wait for a lock.
func (pg Postgres) lockTimeout() time.Duration {
	text := pg.Config.RuntimeParams["lock_timeout"]
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(n) * time.Millisecond // PostgreSQL's unit for it
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return 5 * time.Second
}

// connector makes sessions.
type connector struct {
	pg   Postgres
	dead atomic.Int64 // when an idle session was found to be dead, in Unix nanoseconds
	told atomic.Int64 // when a caller was notified last that it waits, in Unix nanoseconds
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// met are the servers that this process has been connected to, over any handle.
var met sync.Map

// Met reports whether this process has been connected to a server.
func Met(pg Postgres) bool {
	_, ok := met.Load(serverName(pg.Config))
	return ok
}

func serverName(c *pgx.ConnConfig) string {
	return fmt.Sprintf("%s@%s:%d/%s", c.User, c.Host, c.Port, c.Database)
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	s, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// session connects, for as long as the server is waited for.
func (c *connector) session(ctx context.Context) (*session, error) {
	waiting := time.AfterFunc(tellAfter(), func() { c.tell(ctx) })
	defer waiting.Stop()
	until := time.Now().Add(c.pg.patience())
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		s, err := c.dial(ctx)
		if err == nil {
			met.Store(serverName(c.pg.Config), true)
			return s, nil
		}
		if !mayPass(c.pg.Place, err) || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// patience returns how long a server that is away is waited for.
func (pg Postgres) patience() time.Duration {
	if within := pg.Config.ConnectTimeout; within > 0 { // the URL says so
		return min(within, patience())
	}
	return patience()
}

// mayPass reports whether a server that cannot be reached may be reachable soon. A client that is refused
// for what it asked for is not, a host without an address has no server, and
// TLS that cannot be used stays so.
func mayPass(place string, err error) bool {
	switch code := stateOf(err); {
	case code == "57P03", code == "53300", code == "57P01", code == "57P02":
		return true
	case code != "":
		return false
	}
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound || ofTLS(err) {
		return false
	}
	return fault.Is(PostgresFault(place, err), fault.StorageUnreachable)
}

func (c *connector) dial(ctx context.Context) (*session, error) {
	config, below := c.pg.wired()
	conn, err := stdlib.GetConnector(*config).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{Conn: conn.(*stdlib.Conn), of: c, wire: *below}, nil
}

// wired returns a configuration whose connections are made over a wire, and where that will be.
func (pg Postgres) wired() (*pgx.ConnConfig, **wire) {
	config := pg.Config.Copy()
	within := config.ConnectTimeout
	Watchful(config)
	if within > 0 { // the URL says so
		config.ConnectTimeout = within
	}
	below, dial := new(*wire), config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		*below = &wire{Conn: conn}
		return *below, nil
	}
	return config, below
}

// tellAgain sets how long the same is not reported again.
const tellAgain = 30 * time.Second

// tell notifies a caller of the server that it waits for.
func (c *connector) tell(ctx context.Context) {
	say, _ := ctx.Value(telling{}).(func(string))
	if say == nil {
		return
	}
	last, now := c.told.Load(), time.Now().UnixNano()
	if now-last > int64(tellAgain) && c.told.CompareAndSwap(last, now) {
		say("waiting for " + c.pg.Place)
	}
}

type telling struct{}

// Telling lets a caller that waits for a server for two seconds, with this context, say so; nil:
// say nothing.
func Telling(ctx context.Context, say func(string)) context.Context {
	return context.WithValue(ctx, telling{}, say)
}

type unhurried struct{}

// Unhurried lets a statement that writes take as long as the server says that it is busy
// with it: tables are made, or rewritten.
func Unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurried{}, true)
}

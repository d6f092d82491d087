package dbosqueue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"ramet/internal/database"
	"ramet/internal/fault"
	"ramet/internal/runner"
)

// hostPrefix begins the names of the queues that belong to one host. Those of jobs
// begin with linePrefix; DBOS has names of its own.
const (
	hostPrefix = "host:"
	linePrefix = "jobs:"
)

// Server is the queue between hosts.
type Server struct {
	address string
	host    string
	pg      database.Postgres
	schema  string
	client  dbos.Context // never launched: it enqueues, cancels and lists, and hands out nothing
	pool    *pgxpool.Pool

	mu      sync.Mutex
	serving *service // what Serve is doing, if it is
	stopped bool
	serves  sync.WaitGroup
	closing sync.Once
	closed  error
}

var (
	_ runner.Queue = (*Server)(nil)
	_ runner.Host  = (*Server)(nil)
)

// OpenServer opens the queue in a schema of its own beside the workspace's schema, and
// makes it if there is none. host names this process among all that are alive.
func OpenServer(ctx context.Context, address, host string) (*Server, error) {
	if host == "" || len(host) > 200 {
		return nil, fault.New(fault.Usage, "a host needs a name, at most 200 bytes: %.220q", host)
	}
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	s := &Server{address: address, host: host, pg: pg, schema: besides(pg.Schema, "queue")}
	if s.pool, err = s.connect(ctx, 4); err == nil {
		err = s.makeSchema(ctx, func() error {
			s.client, err = start(ctx, dbos.Config{SystemDBPool: s.pool, DatabaseSchema: s.schema, ExecutorID: host})
			return err
		})
	}
	if err != nil {
		if s.pool != nil {
			s.pool.Close()
		}
		return nil, s.fail("open the queue", err)
	}
	return s, nil
}

// besides names a schema that belongs to another.
func besides(schema, what string) string {
	if name := schema + "_" + what; len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%x_%s", sum[:16], what)
}

// connect opens connections that notice a server which vanished without a word.
func (s *Server) connect(ctx context.Context, most int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(s.pg.Config.ConnString())
	if err != nil {
		return nil, err
	}
	config.ConnConfig = s.pg.Config.Copy()
	config.ConnConfig.DialFunc = dialer.DialContext
	// What is lost when the server crashes is in the log: nobody waits for its disk.
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	config.ConnConfig.ConnectTimeout = patience
	config.MaxConns, config.MaxConnIdleTime = most, 5*time.Minute
	return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
}

var dialer = &net.Dialer{Timeout: patience, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}

// makeSchema has the tables made by one host at a time; DBOS does not see to that. The
// lock is asked for again and again: who waits for one inside the server keeps DBOS's
// indexes from being made.
func (s *Server) makeSchema(ctx context.Context, do func() error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	sum := sha256.Sum256([]byte(s.schema))
	key := int64(database.SchemaLock)<<32 | int64(sum[0])<<16 | int64(sum[1])<<8 | int64(sum[2])
	for {
		var got bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&got); err != nil {
			return err
		}
		if got {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	err = do()
	_, unlock := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, key)
	return errors.Join(err, unlock)
}

// Host is the name under which this process does jobs.
func (s *Server) Host() string { return s.host }

// Close ends Serve, waits for it, and disconnects.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.stopped = true
		if s.serving != nil {
			s.serving.stop()
		}
		s.mu.Unlock()
		s.serves.Wait()
		if err := dbos.Shutdown(s.client, patience); err != nil { // the pool with it
			s.closed = s.fail("close the queue", err)
		}
	})
	return s.closed
}

// table names a table of DBOS.
func (s *Server) table(name string) string { return pgx.Identifier{s.schema, name}.Sanitize() }

func (s *Server) fail(verb string, err error) error {
	return failure(verb, s.pg.Place, serverFault(s.pg.Place, err))
}

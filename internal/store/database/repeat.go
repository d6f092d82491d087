package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ramet/internal/base/fault"
)

// Transient reports whether a transaction may succeed when it is repeated: it was the victim
// of a deadlock, or of two who made the same. SQLite has no such errors: its waiting is
// the busy timeout's work.
func Transient(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40P01" || e.Code == "40001")
}

// maxTries bounds how often a transaction is repeated that is the victim of others.
const maxTries = 8

// Repeat does a transaction, and does it again while it is the victim of others, or while its
// connection is lost before anything was done; that for 8 s at most. What do leaves behind
// must not hinder it to be done again.
func Repeat(ctx context.Context, do func() error) error {
	var until time.Time // zero: no connection was lost yet
	for try, pause := 1, firstPause; ; {
		err := do()
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case Transient(err):
			if try++; try > maxTries {
				return err
			}
			continue
		case !nothingDone(err):
			return err
		case until.IsZero():
			until = time.Now().Add(patience())
		case time.Now().Add(pause).After(until):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// nothingDone reports whether a transaction was lost with its connection, and may be had with
// another one. A commit whose outcome is not known is none of those.
func nothingDone(err error) bool {
	var undone *Undone
	if errors.As(err, &undone) {
		return Lost(undone.Err)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return false // who connects has been patient already
	}
	_, judged := fault.Of(err)
	return !judged && Lost(err)
}

// stateOf returns the SQLSTATE of what a server said; empty: it said nothing.
func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Lost reports whether an error is that of a connection that is no more.
func Lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if code := stateOf(err); code != "" {
		// Terminated, crashed, about to stop; or the session was silent for too long.
		return strings.HasPrefix(code, "08") || slices.Contains([]string{"57P01", "57P02", "57P03", "57P05", "25P03"}, code)
	}
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, ErrSilent, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network *net.OpError
	return errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// ServerFault is PostgresFault with another hint for lost connections.
func ServerFault(place, hint string, err error) error {
	if _, ours := fault.Of(err); !ours && Lost(err) {
		return fault.New(fault.StorageUnreachable, "%s: the connection was lost: %w", place, err).WithHint("%s", hint)
	}
	return PostgresFault(place, err)
}

// Pauses before something is tried again double from the first to the last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Patience limits how long an operation is retried while connections are lost.
type Patience struct {
	Place   string
	Tries   int           // 0: until the context ends
	Attempt time.Duration // what one try may take; 0: any time
}

// Persist does something that may be done twice, over and over again while connections are
// lost or others are in the way, until it is done, refused, or ctx ends.
func (p Patience) Persist(ctx context.Context, do func(ctx context.Context) error) error {
	for try, pause := 1, firstPause; ; try, pause = try+1, min(2*pause, lastPause) {
		late, err := p.once(ctx, do)
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		again := late || Transient(err)
		err = p.Fault(err)
		if again = again || fault.Is(err, fault.StorageUnreachable) || fault.Is(err, fault.Locked); err == nil || !again || try == p.Tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (p Patience) once(ctx context.Context, do func(ctx context.Context) error) (late bool, err error) {
	if p.Attempt == 0 {
		return false, do(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, p.Attempt)
	defer cancel()
	err = do(ctx)
	return ctx.Err() != nil, err
}

// Fault turns whatever a server or its driver said into a fault.
func (p Patience) Fault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	known := ServerFault(p.Place, "check that the server runs, then repeat", err)
	if _, ok := fault.Of(known); ok {
		return known
	}
	var network net.Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		return fault.New(fault.Failed, "%s: %s (SQLSTATE %s)", p.Place, server.Message, server.Code)
	case pgconn.SafeToRetry(err), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.StorageUnreachable, "%s: the connection was lost: %w", p.Place, err).WithHint("check that the server runs, then repeat")
	}
	return fault.New(fault.Failed, "%s: %w", p.Place, err)
}

// Tx is a transaction on PostgreSQL that writes. It is a session of its own for as long as it
// lasts: database/sql has a goroutine wait beside each of its own transactions for the end of
// their context, which a caller that asks something with that context learns anyway.
type Tx struct {
	*sql.Conn
	tx   *transaction
	over bool
}

// Begin begins a transaction, which goes to the server with its first statement.
func Begin(ctx context.Context, db *sql.DB) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tx{Conn: conn}
	err = conn.Raw(func(s any) (err error) {
		t.tx, err = s.(*session).later(ctx)
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}

// Statement is one that is carried out for its effect.
type Statement struct {
	Query string
	Args  []any
}

// Run carries out statements in one round trip, and commits the transaction with them if last is set; then only Commit
// follows.
func (t *Tx) Run(ctx context.Context, statements []Statement, last bool) error {
	return t.Conn.Raw(func(any) error {
		_, err := t.tx.run(ctx, statements, last)
		return err
	})
}

// Commit ends it.
func (t *Tx) Commit() error { return t.end((*transaction).Commit) }

// Rollback undoes it. After its end it does nothing.
func (t *Tx) Rollback() error { return t.end((*transaction).Rollback) }

func (t *Tx) end(as func(*transaction) error) error {
	if t.over {
		return sql.ErrTxDone
	}
	t.over = true
	defer t.Conn.Close()
	return t.Conn.Raw(func(any) error { return as(t.tx) })
}

// Undone is the error of a transaction that surely did nothing.
type Undone struct{ Err error }

func (u *Undone) Error() string { return "nothing was done: " + u.Err.Error() }

// Unwrap gives the cause.
func (u *Undone) Unwrap() error { return u.Err }

// lifeOfServer is a value that changes when a server crashes, and with nothing else that
// happens often: its statistics are thrown away then. After a crash the server may give a
// number again that it had given to a transaction which was lost; so that a number is known
// to be committed says nothing of ours any more.
const lifeOfServer = `(select coalesce(stats_reset::text, '-') from pg_stat_bgwriter)`

// verdict is the outcome of a transaction.
type verdict int

const (
	unknown verdict = iota
	done
	undone
	pending // the server is not through with it
)

// judge finds out what came of a transaction whose commit was not answered.
func (t *transaction) judge(cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), seconds(10))
	defer cancel()
	waiting := time.AfterFunc(tellAfter(), func() { t.of.tell(ctx) })
	defer waiting.Stop()
	pid := t.Conn.Conn().PgConn().PID()
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		v, err := t.of.outcome(ctx, t.id, t.life, pid)
		switch {
		case err == nil && v == done:
			return nil
		case err == nil && v == undone:
			return &Undone{cause}
		case err == nil && v == unknown:
			return t.of.unknown(t.id, errors.New("the server crashed meanwhile"))
		}
		select {
		case <-ctx.Done():
			return t.of.unknown(t.id, cause)
		case <-time.After(pause):
		}
	}
}

func (c *connector) unknown(id string, cause error) error {
	return fault.New(fault.UnknownOutcome, "%s: whether it was done is not known: the answer to the commit of transaction %s was lost: %s", c.pg.Place, id, innermostReason(cause)).
		WithHint("when the server answers again, `select pg_xact_status('%s')` there tells it", id)
}

// outcome asks on a connection of its own. A transaction that is open still, though the
// connection that it belongs to is lost to us, is ended.
func (c *connector) outcome(ctx context.Context, id, life string, pid uint32) (verdict, error) {
	conn, err := c.aside(ctx)
	if err != nil {
		return unknown, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	got, err := execPlain(ctx, conn, fmt.Sprintf("select coalesce(pg_xact_status('%s'), ''), %s", id, lifeOfServer))
	if err != nil {
		if stateOf(err) == "22023" { // a number that was not given yet: it was, and was lost in a crash
			return undone, nil
		}
		return unknown, err
	}
	switch status, now := got.rows[0][0], got.rows[0][1]; {
	case status == "aborted":
		return undone, nil
	case now != life && status == "in progress":
		return undone, nil // it is another one's number now, so ours was lost
	case status == "in progress":
		_, err := execPlain(ctx, conn, fmt.Sprintf("select pg_terminate_backend(pid) from pg_stat_activity where pid = %d and backend_xid = '%s'::xid8::xid", pid, id))
		return pending, err
	case now != life || status == "":
		return unknown, nil
	}
	return done, nil
}

// working asks whether the server is still busy with what a session asked it.
func (c *connector) working(pid uint32) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	conn, err := c.aside(ctx)
	if err != nil {
		return false
	}
	defer conn.Close(context.WithoutCancel(ctx))
	got, err := execPlain(ctx, conn, fmt.Sprintf("select state from pg_stat_activity where pid = %d", pid))
	return err == nil && len(got.rows) == 1 && strings.HasPrefix(got.rows[0][0], "active")
}

// aside returns a connection beside the others, for a question.
func (c *connector) aside(ctx context.Context) (*pgx.Conn, error) {
	config, _ := c.pg.wired()
	return pgx.ConnectConfig(ctx, config)
}

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"ramet/internal/store/database"
)

// keeping makes connections that keep their statements compiled, since
// compiling is a third of what a small verb costs. The driver compiles a statement
// before its first use in any case, so that keeping it from then on costs nothing.
type keeping struct{ driver.Connector }

// Connect implements driver.Connector.
func (k keeping) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	for until := time.Now().Add(database.BusyTimeout * time.Millisecond); isHeld(err) && time.Now().Before(until) && ctx.Err() == nil; c, err = k.Connector.Connect(ctx) {
		time.Sleep(5 * time.Millisecond) // SQLite does not wait itself while another makes the log of a new file
	}
	if err != nil {
		return nil, err
	}
	full, ok := c.(conn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks what a connection needs"), c.Close())
	}
	return &keeper{conn: full, kept: map[string]*kept{}}, nil
}

// conn has the methods of the driver's connections that database/sql uses.
type conn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keeper is a connection with its statements. Its owner is the holder of the
// connection: database/sql lets one goroutine use it at a time.
type keeper struct {
	conn
	kept map[string]*kept
}

// kept is a compiled statement.
type kept struct {
	stmt statement
	busy bool // its rows are being read
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// maxKept bounds the statements of a connection. All our verbs need fewer, except for INSERTs of every length.
const maxKept = 256

// take returns the kept statement of a query, or nil if it has to be run the
// usual way: it is being used, or there is no room for it.
func (k *keeper) take(ctx context.Context, query string) (*kept, error) {
	s, known := k.kept[query]
	switch {
	case known && s.busy:
		return nil, nil
	case known:
		return s, nil
	case len(k.kept) >= maxKept:
		return nil, nil
	}
	made, err := k.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s = &kept{stmt: made.(statement)}
	k.kept[query] = s
	return s, nil
}

// Before is called before each statement, if it is not nil. The statement is not carried out if it returns an error,
// which is then the statement's. Only tests set it.
var Before func(query string) error

// before asks Before, and returns the kept statement of a query, as take does.
func (k *keeper) before(ctx context.Context, query string) (*kept, error) {
	if Before != nil {
		if err := Before(query); err != nil {
			return nil, err
		}
	}
	return k.take(ctx, query)
}

func (k *keeper) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := k.before(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return k.conn.ExecContext(ctx, query, args)
	}
	return s.stmt.ExecContext(ctx, args)
}

func (k *keeper) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := k.before(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return k.conn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &lent{rows, s}, nil
}

func (k *keeper) Close() error {
	var errs []error
	for _, s := range k.kept {
		errs = append(errs, s.stmt.Close())
	}
	return errors.Join(append(errs, k.conn.Close())...)
}

// lent are rows of a kept statement, which is free again when they are closed.
type lent struct {
	driver.Rows
	of *kept
}

func (l *lent) Close() error {
	l.of.busy = false
	return l.Rows.Close()
}

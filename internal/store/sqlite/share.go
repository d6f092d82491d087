package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
)

// shared is a connection that the handle which writes and the one which reads have together, until both
// want it at the same time. Most commands never do: they read, then write, and a second connection would read
// the definitions of all tables once more, and compile statements that the other one has.
//
// Nobody waits for it. Who finds it taken opens a connection of its own and stays with that one: no reader
// stands behind a transaction, no write behind rows that its own caller has not read to the end, and all that
// is written goes through one connection, which has seen the pages that it changes.
type shared struct {
	keeping
	holder  atomic.Pointer[side] // who uses it; nil: nobody
	k       *keeper              // of the holder, or of who leaves last; nil: not open
	members atomic.Int32         // of the two; negative: they were there and have left
}

// join is false when it is closed.
func (c *shared) join() bool {
	for {
		n := c.members.Load()
		if n < 0 || c.members.CompareAndSwap(n, n+1) {
			return n >= 0
		}
	}
}

// take is false if the other one uses it, or nobody should any more.
func (c *shared) take(ctx context.Context, s *side) (ok bool, err error) {
	if !c.holder.CompareAndSwap(nil, s) {
		return false, nil
	}
	if c.k == nil {
		if c.k, err = c.connect(ctx); err != nil {
			c.holder.Store(nil)
			return false, err
		}
	}
	if !c.k.IsValid() {
		c.holder.Store(nil)
		return false, nil
	}
	return true, nil
}

// leave is for a member that does not use it. The last one closes it.
func (c *shared) leave() error {
	if c.members.Add(-1) > 0 || !c.members.CompareAndSwap(0, -1) || c.k == nil {
		return nil
	}
	return c.k.Close()
}

// sides make the connections of one of the two handles: the first has a part in the shared one, the others are
// its own.
type sides struct {
	own    keeping
	common *shared
	joined atomic.Bool
}

func (c *sides) Driver() driver.Driver { return c.own.Driver() }

func (c *sides) Connect(ctx context.Context) (driver.Conn, error) {
	if c.joined.Swap(true) || !c.common.join() {
		return c.own.Connect(ctx)
	}
	s := &side{own: c.own, common: c.common}
	if _, err := s.take(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.give()
	return s, nil
}

// side is a connection of a handle, which uses the shared one as long as it can. One goroutine uses it at a
// time, as database/sql promises.
type side struct {
	own    keeping
	common *shared
	k      *keeper // its own; nil: it has none and has not left
	uses   int     // of the shared one, that are not over: transactions, rows, statements
}

// take is followed by give when what was begun is over.
func (s *side) take(ctx context.Context) (*keeper, error) {
	if s.k == nil && s.uses == 0 {
		switch ok, err := s.common.take(ctx, s); {
		case err != nil:
			return nil, err
		case !ok:
			k, err := s.own.connect(ctx)
			if err != nil {
				return nil, err
			}
			s.k = k
			if err := s.common.leave(); err != nil {
				return nil, err
			}
		}
	}
	if s.k != nil {
		return s.k, nil
	}
	s.uses++
	return s.common.k, nil
}

func (s *side) give() {
	if s.k != nil {
		return
	}
	if s.uses--; s.uses == 0 {
		s.common.holder.Store(nil)
	}
}

func (s *side) Close() error {
	if s.k != nil {
		return s.k.Close()
	}
	return s.common.leave()
}

func (s *side) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	k, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := k.BeginTx(ctx, o)
	if err != nil {
		s.give()
		return nil, err
	}
	return taking{tx, s}, nil
}

// taking is a transaction that gives its connection back.
type taking struct {
	driver.Tx
	by *side
}

func (t taking) Commit() error {
	defer t.by.give()
	return t.Tx.Commit()
}

func (t taking) Rollback() error {
	defer t.by.give()
	return t.Tx.Rollback()
}

// Before is called before each statement, if it is not nil. The statement is not carried out if it returns an error, which
// is then the statement's. Only tests set it.
var Before func(query string) error

func (s *side) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if Before != nil {
		if err := Before(query); err != nil {
			return nil, err
		}
	}
	k, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.give()
	return k.ExecContext(ctx, query, args)
}

func (s *side) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if Before != nil {
		if err := Before(query); err != nil {
			return nil, err
		}
	}
	k, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := k.QueryContext(ctx, query, args)
	if err != nil {
		s.give()
		return nil, err
	}
	return &reading{rows, s}, nil
}

// reading are rows that give their connection back.
type reading struct {
	driver.Rows
	by *side
}

func (r *reading) Close() error {
	if r.by == nil {
		return nil
	}
	defer r.by.give()
	r.by = nil
	return r.Rows.Close()
}

func (s *side) Ping(ctx context.Context) error {
	k, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.give()
	return k.Ping(ctx)
}

// IsValid says whether it may be used again. What is wrong with the shared one is found when it is taken.
func (s *side) IsValid() bool { return s.k == nil || s.k.IsValid() }

func (s *side) ResetSession(ctx context.Context) error {
	if s.k == nil {
		return nil
	}
	return s.k.ResetSession(ctx)
}

// errKept: a statement would outlive the time for which its connection was taken. All are kept anyway.
var errKept = errors.New("a shared connection keeps its statements itself")

func (s *side) Prepare(string) (driver.Stmt, error) { return nil, errKept }

func (s *side) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

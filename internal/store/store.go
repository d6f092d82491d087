// Package store keeps a workspace in a relational database. It is written once
// for both engines over database/sql; what differs between SQLite and
// PostgreSQL is a Dialect, supplied by the packages beside it.
//
// Each verb is one transaction that begins by locking the rows of the agents
// it writes for, so that ids, links and counts of one history are made by one
// writer at a time. Nothing of a transaction leaves this package.
//
// Statements use $N placeholders and integers for times (microseconds), which
// both engines read the same way.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store/database"
)

// Dialect adapts the store to an engine.
type Dialect interface {
	// ForUpdate ends a SELECT that locks its rows; "" where the transaction
	// locks the whole database.
	ForUpdate() string
	// Now is an expression for the database's time in microseconds.
	Now() string
	// Bytes is the type of a column of bytes.
	Bytes() string
	// Begin begins a transaction that writes.
	Begin(ctx context.Context) (Transaction, error)
	// NextMessages reserves n ascending message ids, above all that were
	// reserved before.
	NextMessages(ctx context.Context, tx Tx, n int) ([]id.Message, error)
	// Draws makes of a SELECT that locks one row one that then reserves n message ids, as
	// NextMessages does, and gives them in further columns; "" where a second question costs
	// nothing, or less than this one would.
	Draws(locks string, n int) string
	// NextLetter reserves a letter id.
	NextLetter(ctx context.Context, tx Tx) (int64, error)
	// Backwards ends a SELECT of entries of one agent, newest first: the condition that they are its own (an expression), and
	// above and up to certain ids, whatever else is wanted of them, and the order. What has a limit behind it reads no more of them.
	Backwards(agent, above, upTo, wanted string) string
	// Run carries out statements in their order; where the database is far away, in one round trip. last says that only
	// the commit follows, which may be done with them.
	Run(ctx context.Context, tx Tx, statements []Statement, last bool) error
	// LockTable waits for those who are writing a table, and holds off others until the transaction ends.
	LockTable(ctx context.Context, tx Tx, table string) error
	// Announce makes the statements that let the listeners of this workspace
	// hear of agents when the transaction commits; none where listening is impossible.
	Announce(what string, agents ...id.Agent) []Statement
	// Listen is registry.Bell on this engine.
	Listen(ctx context.Context, ring func(registry.Ring)) error
	// Fault turns a driver's error into one of ours, or returns it as it is.
	Fault(err error) error
	// Scrub removes deleted bytes from free pages and logs.
	Scrub(ctx context.Context) error
	// Changes is registry.Feed on this engine.
	Changes(ctx context.Context, after registry.Cursor, limit int) ([]registry.Change, registry.Cursor, error)
	Latest(ctx context.Context) (registry.Cursor, error)
	// Backup is Store's.
	Backup(ctx context.Context, path string) error
	// Describe is Store's.
	Describe(ctx context.Context) (registry.Description, error)
	// Snapshot are the options of a transaction that sees one moment.
	Snapshot() *sql.TxOptions
}

// Statement is one that is carried out for its effect.
type Statement = database.Statement

// Store is a workspace in a database. It implements the ports of agent,
// history, mail and registry and is safe for concurrent use.
type Store struct {
	*core
	leases
	letters
}

// core is the handles that the parts of a store share.
type core struct {
	reader
	writer *sql.DB
	failed atomic.Pointer[fault.Error]
	notice atomic.Pointer[string]
	close  func() error
}

// SetNotice leaves what a person should know about how the store was opened.
func (c *core) SetNotice(text string) { c.notice.Store(&text) }

// TakeNotice returns what SetNotice left, to the first caller only.
func (c *core) TakeNotice() string {
	if text := c.notice.Swap(nil); text != nil {
		return *text
	}
	return ""
}

// leases implements agent.Leases.
type leases struct{ *core }

// letters changes mailboxes.
type letters struct{ *core }

// New makes a store from its handles. writes go to writer, everything else to
// readers; they may be the same. closing gives them back.
func New(writer, readers *sql.DB, d Dialect, closing func() error) *Store {
	c := &core{reader: reader{q: readers, d: d}, writer: writer, close: closing}
	return &Store{c, leases{c}, letters{c}}
}

// Close gives back the database. The store is not used afterwards.
func (s *Store) Close() error {
	return s.close()
}

// Failed returns why nothing is written any more: a sync of the disk failed. It is nil for a store that works.
func (s *core) Failed() error {
	if err := s.failed.Load(); err != nil {
		return err
	}
	return nil
}

// write runs fn in one transaction and commits it.
func (s *core) write(ctx context.Context, verb string, fn func(Tx) error) error {
	if err := s.Failed(); err != nil {
		return err
	}
	err := database.Repeat(ctx, func() error { return s.once(ctx, fn) })
	if err == nil {
		return nil
	}
	unsynced := database.IsUnsynced(err)
	err = s.fail(verb, err)
	if f, ok := fault.Of(err); ok && unsynced {
		s.failed.Store(f)
	}
	return err
}

// seekOutcome adds to an unknown outcome what to look for: it was done if that
// is there.
func seekOutcome(err error, format string, args ...any) error {
	f, ok := fault.Of(err)
	if !ok || f.Code != fault.UnknownOutcome {
		return err
	}
	return f.WithHint("it was done if there is "+format+": look before you repeat it", args...)
}

func (s *core) once(ctx context.Context, fn func(Tx) error) error {
	tx, err := s.d.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// fail gives a driver's error its code, and every error the verb's name.
func (r reader) fail(verb string, err error) error {
	err = r.d.Fault(err)
	if f, ok := fault.Of(err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) {
		return fault.New(fault.Interrupted, "%s: %w", verb, err)
	}
	return fmt.Errorf("%s: %w", verb, err)
}

func micros(t time.Time) int64 { return t.UnixMicro() }

// fromMicros gives the zero time for 0, which stands for NULL.
func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// null does what NULL does for the zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func nullLimit(l agent.Limit) any {
	if n, ok := l.Get(); ok {
		return n
	}
	return nil
}

func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return micros(t)
}

// View implements history.Viewer.
func (s *Store) View(ctx context.Context, look func(history.Log) error) error {
	tx, err := s.snapshot(ctx)
	if err != nil {
		return s.fail("look", err)
	}
	defer tx.Rollback() // nothing was written
	return look(reader{tx, s.d})
}

// snapshot begins a transaction that sees one moment.
func (s *core) snapshot(ctx context.Context) (*sql.Tx, error) {
	return s.q.(*sql.DB).BeginTx(ctx, s.d.Snapshot())
}

// Latest implements registry.Feed.
func (s *Store) Latest(ctx context.Context) (registry.Cursor, error) {
	at, err := s.d.Latest(ctx)
	if err != nil {
		return "", s.fail("read feed", err)
	}
	return at, nil
}

// Changes implements registry.Feed.
func (s *Store) Changes(ctx context.Context, after registry.Cursor, limit int) ([]registry.Change, registry.Cursor, error) {
	changes, next, err := s.d.Changes(ctx, after, limit)
	if err != nil {
		return nil, after, s.fail("read feed", err)
	}
	return changes, next, nil
}

// Listen implements registry.Bell.
func (s *Store) Listen(ctx context.Context, ring func(registry.Ring)) error {
	if err := s.d.Listen(ctx, ring); err != nil {
		return s.fail("listen", err)
	}
	return nil
}

// Backup writes a consistent copy into a new SQLite file.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.d.Backup(ctx, path); err != nil {
		return s.fail("back up", err)
	}
	return nil
}

// Describe returns what the store is.
func (s *Store) Describe(ctx context.Context) (registry.Description, error) {
	d, err := s.d.Describe(ctx)
	if err != nil {
		return d, s.fail("describe store", err)
	}
	return d, nil
}

// Call implements registry.Bell.
func (s *Store) Call(ctx context.Context, r registry.Ring) (bool, error) {
	said := s.d.Announce(r.What, r.Agent)
	if len(said) == 0 {
		return false, nil
	}
	return true, s.write(ctx, "ring", func(tx Tx) error { return s.d.Run(ctx, tx, said, true) })
}

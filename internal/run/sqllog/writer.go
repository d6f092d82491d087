package sqllog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Writer is a log open for appending. It implements run.Writer.
type Writer struct {
	*rows
	*run.Appender
	conn     *sql.Conn // the only one that writes
	schema   string    // of a table; empty: it is a file
	sessions []int     // processes of the server for conn, the last, and for those that were lost
	// unsure reports whether an error leaves open what is in the log.
	unsure  func(error) bool
	before  func()       // ends a session's lock, before the session
	after   func() error // ends a file's lock, after all else
	closing sync.Once
}

// start verifies the log and readies the writer.
func (w *Writer) start(ctx context.Context) error {
	s := w.stream(ctx, 0)
	for e, err := range s.Events(ctx) {
		if err != nil {
			return w.fail("read events", err)
		}
		if w.run != "" && e.RunID != w.run {
			return run.ChainBroken(w.place, e.Line, e.Offset, "it is an event of run %s", e.RunID)
		}
	}
	w.Appender = run.NewAppender(w.place, s.Chain, s.Last, w.commit)
	return nil
}

// Append implements run.Writer.
func (w *Writer) Append(ctx context.Context, drafts ...run.Draft) ([]run.Event, error) {
	for _, d := range drafts {
		if w.run != "" && d.RunID != w.run {
			return nil, fault.New(fault.InvalidEvent, "%s: event %.60s is one of run %.80s, the log is that of run %s", w.place, d.ID, d.RunID, w.run)
		}
	}
	return w.Appender.Append(ctx, drafts...)
}

// Last implements run.Log, from memory.
func (w *Writer) Last(ctx context.Context) (run.Entry, bool, error) { return w.Appender.Last(ctx) }

// Close waits for what is being written and gives back the lock.
func (w *Writer) Close() (err error) {
	w.closing.Do(func() {
		w.Appender.Close()
		err = w.stop()
	})
	return err
}

func (w *Writer) stop() error {
	if w.before != nil {
		w.before()
	}
	err := w.conn.Close()
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
		err = nil // lost before
	}
	err = errors.Join(err, w.rows.Close())
	if w.after != nil {
		err = errors.Join(err, w.after())
	}
	return err
}

// commit writes lines, also when that takes another connection. The
// context of one caller does not end what many wait for.
func (w *Writer) commit(entries []run.Entry) error {
	err := w.write(entries)
	for try := 0; try < mostRegained && w.schema != "" && err != nil && connectionLost(err); try++ {
		written, lost := w.regain(entries)
		if lost != nil {
			return &run.FatalError{Err: w.fail("append", lost)}
		}
		if written {
			return nil
		}
		err = w.write(entries)
	}
	return err
}

// write writes lines in one transaction.
func (w *Writer) write(entries []run.Entry) error {
	ctx := context.Background()
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return w.judge(err, w.unsure(err))
	}
	for _, e := range entries {
		_, err := tx.ExecContext(ctx, `INSERT INTO run_events (run_id, seq, event_id, line) VALUES ($1, $2, $3, $4)`, e.RunID, e.Line, e.ID, e.Raw)
		if err != nil {
			undone := tx.Rollback()
			return w.judge(err, undone != nil || w.unsure(err))
		}
	}
	if err := tx.Commit(); err != nil {
		// SQLite may leave the transaction open, if it can still be ended.
		w.conn.ExecContext(ctx, `ROLLBACK`)
		return w.judge(err, w.unsure(err))
	}
	return nil
}

func (w *Writer) judge(err error, fatal bool) error {
	err = w.fail("append", err)
	if fatal {
		return &run.FatalError{Err: err}
	}
	return err
}

package sqllog

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/store/database"
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
		if w.before != nil {
			w.before()
		}
		if err = w.conn.Close(); errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
			err = nil // lost before
		}
		err = errors.Join(err, w.rows.Close())
		if w.after != nil {
			err = errors.Join(err, w.after())
		}
	})
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

// regainTime limits how long a writer whose connection was lost tries to have its run back,
// regainPause how long it waits in between, and mostRegained how often it has the run back
// for one write.
const (
	regainTime   = time.Minute
	regainPause  = 200 * time.Millisecond
	mostRegained = 20
)

// connectionLost reports whether a connection is lost, or what came of a commit is not known: a writer that
// has the run again can look.
func connectionLost(err error) bool {
	return database.Lost(err) || fault.Is(err, fault.UnknownOutcome) || fault.Is(database.PostgresFault("", err), fault.StorageUnreachable)
}

// regain takes the run again on another connection, and reports whether entries are in the log.
// FENCED: another process has the run now, or had it.
func (w *Writer) regain(entries []run.Entry) (written bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), regainTime)
	defer cancel()
	for {
		if written, err = w.reopen(ctx, entries); err == nil || !connectionLost(err) {
			return written, err
		}
		select {
		case <-ctx.Done():
			return false, err
		case <-time.After(regainPause):
		}
	}
}

func (w *Writer) reopen(ctx context.Context, entries []run.Entry) (bool, error) {
	w.conn.Close() // it is lost
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return false, err
	}
	w.conn = conn
	if err := w.know(ctx); err != nil {
		return false, err
	}
	if err := w.relock(ctx); err != nil {
		return false, err
	}
	w.sessions = w.sessions[len(w.sessions)-1:] // no other one holds anything
	return w.compare(ctx, entries)
}

// know remembers the session that is to hold the run, before it does: an answer that is lost
// leaves such a session.
func (w *Writer) know(ctx context.Context) error {
	var pid int
	err := w.conn.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&pid)
	if err == nil {
		w.sessions = append(w.sessions, pid)
	}
	return err
}

// relock takes the run again. A session of our own that the server has not noticed to be lost is
// ended; where none is left, and yet the run is held, another process has it.
func (w *Writer) relock(ctx context.Context) error {
	held := w.lock(ctx, w.schema)
	if !fault.Is(held, fault.Locked) {
		return held
	}
	lost := w.sessions[:len(w.sessions)-1]
	var ended bool
	err := w.conn.QueryRowContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
		WHERE pid = ANY($1::int[]) AND application_name = $2 AND l.locktype = 'advisory' AND l.granted LIMIT 1`, lost, processName()).Scan(&ended)
	switch {
	case err == nil:
		return fault.New(fault.StorageUnreachable, "%s: the session that was lost still has it", w.place)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	// The server may have noticed just now: then the run is free.
	if held = w.lock(ctx, w.schema); fault.Is(held, fault.Locked) {
		return fault.New(fault.Fenced, "%s: another process took it while the connection was lost: %w", w.place, held)
	}
	return held
}

// compare reports whether entries, and no others, follow what was in the log.
func (w *Writer) compare(ctx context.Context, entries []run.Entry) (written bool, err error) {
	where, args := w.where(1)
	var line int64
	var raw []byte
	err = w.conn.QueryRowContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq DESC LIMIT 1`, args...).Scan(&line, &raw)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return false, err
	}
	first, last := entries[0], entries[len(entries)-1]
	if line == last.Line && bytes.Equal(raw, last.Raw) {
		return true, nil
	}
	if line == 0 && first.Line == 1 {
		return false, nil
	}
	if line == first.Line-1 {
		if e, err := run.VerifyLine(raw); err == nil && e.Hash == first.PrevHash {
			return false, nil
		}
	}
	return false, fault.New(fault.Fenced, "%s: another process wrote there while the connection was lost", w.place).
		WithHint("it carries the run out now")
}

package sqllog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/store/database"
)

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

package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"os"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/store/database"
)

// rows is a log open for reading. It implements run.Log.
type rows struct {
	place string
	db    *sql.DB
	run   string // empty: a file, which holds one run
	fault func(error) error
	close func() error
}

// where picks the rows from a number on.
func (l *rows) where(from int64) (string, []any) {
	if l.run == "" {
		return `seq >= $1`, []any{from}
	}
	return `seq >= $1 AND run_id = $2`, []any{from, l.run}
}

// Close implements run.Log.
func (l *rows) Close() error { return l.fail("close", l.close()) }

// Events implements run.Log. Offsets are those of the export, where it is read
// from its beginning.
func (l *rows) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		s := l.stream(ctx, after)
		for e, err := range s.Events(ctx) {
			if err != nil {
				yield(run.Entry{}, l.fail("read events", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if after > 0 && s.Chain == nil {
			yield(run.Entry{}, run.ChainBroken(l.place, after, 0, "the log ends before event %d", after))
		}
	}
}

func (l *rows) stream(ctx context.Context, after int64) *run.VerifiedStream {
	return &run.VerifiedStream{Lines: l.lines(ctx, max(after, 1)), Given: after > 0}
}

// lines yields the lines of the rows from a number on.
func (l *rows) lines(ctx context.Context, from int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		where, args := l.where(from)
		rows, err := l.db.QueryContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq`, args...)
		if err != nil {
			yield(run.Entry{}, err)
			return
		}
		defer rows.Close()
		offset := int64(0)
		for line := from; rows.Next(); line++ {
			e := run.Entry{Offset: offset}
			if err = rows.Scan(&e.Line, &e.Raw); err == nil && e.Line != line {
				err = &run.BadLine{Line: line, Offset: offset, Reason: errors.New("the line is missing")}
			}
			if !yield(e, err) || err != nil {
				return
			}
			offset += int64(len(e.Raw)) + 1
		}
		if err := rows.Err(); err != nil {
			yield(run.Entry{}, err)
		}
	}
}

// Last implements run.Log.
func (l *rows) Last(ctx context.Context) (run.Entry, bool, error) {
	where, args := l.where(1)
	var e run.Entry
	err := l.db.QueryRowContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq DESC LIMIT 1`, args...).
		Scan(&e.Line, &e.Raw)
	if errors.Is(err, sql.ErrNoRows) {
		return run.Entry{}, false, nil
	}
	if err != nil {
		return run.Entry{}, false, l.fail("read the last event", err)
	}
	if e.Event, err = run.VerifyLine(e.Raw); err != nil {
		return run.Entry{}, false, run.ChainBroken(l.place, e.Line, 0, "%v", err)
	}
	return e, true, nil
}

// fail gives an error its fault.
func (l *rows) fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := fault.Of(err); ours {
		return err
	}
	if bad := (*run.BadLine)(nil); errors.As(err, &bad) {
		return run.ChainBroken(l.place, bad.Line, bad.Offset, "%v", bad.Reason)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return run.CancelledRead(verb, err)
	}
	if err = l.fault(err); fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fault.New(fault.StorageIO, "%s: %s: %w", l.place, verb, err)
}

// applicationID marks our files in SQLite's header: "rlog".
const applicationID = 0x726c6f67

const fileSchema = `CREATE TABLE IF NOT EXISTS run_events (
	seq      INTEGER PRIMARY KEY CHECK (seq > 0),
	run_id   TEXT NOT NULL,
	event_id TEXT NOT NULL UNIQUE,
	line     BLOB NOT NULL
) STRICT`

func fileOf(path string) database.File {
	return database.File{Path: path, ID: applicationID, What: "an event log", Hint: "nothing was changed", Steps: []string{fileSchema}}
}

// OpenFile opens the log in an SQLite file for reading.
func OpenFile(ctx context.Context, path string) (run.Log, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "no event log %s", path)
	case err != nil:
		return nil, durable.Failure("open", path, err)
	}
	if err := run.CheckLogFile(path, info); err != nil {
		return nil, err
	}
	db := database.OpenSQLite(path, "mode=ro", 4)
	if err := checkOurs(ctx, db, path); fault.Is(err, fault.StorageReadOnly) {
		// A folder where not even the shared-memory file of WAL can be made.
		if err := db.Close(); err != nil {
			return nil, err
		}
		db = database.OpenSQLite(path, "mode=ro&immutable=1", 4)
	}
	if err := checkOurs(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return fileRows(path, db), nil
}

func fileRows(path string, db *sql.DB) *rows {
	return &rows{place: path, db: db, close: db.Close, fault: func(err error) error { return database.SQLiteFault(path, err) }}
}

// OpenFileWriter opens the log in an SQLite file for appending, and makes it if
// there is none.
func OpenFileWriter(ctx context.Context, path string) (*Writer, error) {
	if info, err := os.Stat(path); err == nil {
		if err := run.CheckLogFile(path, info); err != nil {
			return nil, err
		}
	}
	lock, err := durable.TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	w, err := openFile(ctx, path)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	w.after = lock.Unlock
	return w, nil
}

func openFile(ctx context.Context, path string) (*Writer, error) {
	// Made here, so that its name is durable and its mode is ours.
	if err := durable.CreateFile(path, nil, 0o600); err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	if _, err := fileOf(path).Peek(ctx); err != nil {
		return nil, err
	}
	db := database.OpenSQLite(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", 5)
	w := &Writer{rows: fileRows(path, db), unsure: func(err error) bool {
		// SQLite may not know what it wrote, as after a failed sync or read. What it could not write it rolls back.
		f, known := fault.Of(database.SQLiteFault("", err))
		return !known || f.Code != fault.StorageFull && f.Code != fault.Conflict && f.Code != fault.Locked
	}}
	err := fileOf(path).Migrate(ctx, db, nil)
	if err == nil {
		w.conn, err = db.Conn(ctx)
	}
	if err != nil {
		return nil, errors.Join(w.fail("open", err), db.Close())
	}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.conn.Close(), db.Close())
	}
	return w, nil
}

// checkOurs refuses a stranger's file, and one in which there is no log yet: NOT_FOUND.
func checkOurs(ctx context.Context, db *sql.DB, path string) error {
	version, err := fileOf(path).Version(ctx, db)
	if err == nil && version == 0 {
		err = fault.New(fault.NotFound, "%s has no events yet", path)
	}
	return database.SQLiteFault(path, err)
}

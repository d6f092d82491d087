package sqllog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

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

const tableSchema = `CREATE TABLE IF NOT EXISTS run_events (
	run_id   TEXT   NOT NULL,
	seq      BIGINT NOT NULL CHECK (seq > 0),
	event_id TEXT   NOT NULL,
	line     BYTEA  NOT NULL,
	PRIMARY KEY (run_id, seq),
	UNIQUE (run_id, event_id)
)`

// OpenTable opens the log of a run in a PostgreSQL database for reading, and makes
// nothing there. A run that has no rows is an empty log.
func OpenTable(ctx context.Context, address, runID string) (run.Log, error) {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return nil, err
	}
	missing, err := tableMissing(ctx, l.db, pg)
	if err == nil && missing {
		err = fault.New(fault.NotFound, "no event log in %s", pg.Place)
	}
	if err != nil {
		return nil, errors.Join(l.fail("open", err), l.db.Close())
	}
	return l, nil
}

func connectTable(address, runID string) (*rows, database.Postgres, error) {
	if err := run.CheckRunID(runID); err != nil {
		return nil, database.Postgres{}, err
	}
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, pg, err
	}
	pg.Config.RuntimeParams["application_name"] = processName()
	db := pg.Open(4)
	place := fmt.Sprintf("%s, run %s", pg.Place, runID)
	return &rows{place: place, db: db, run: runID, close: db.Close, fault: func(err error) error {
		return database.ServerFault(place, "start again; what was acknowledged is in the log", err)
	}}, pg, nil
}

// processName names this process in the server's list of sessions. The server keeps 63 bytes.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("ramet process %d on %.38s", os.Getpid(), host)
}

// makeTable makes the schema and the table that are missing; it needs no right to
// make them where they exist.
func makeTable(ctx context.Context, db *sql.DB, pg database.Postgres) error {
	if missing, err := tableMissing(ctx, db, pg); err != nil || !missing {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := database.LockSchema(ctx, tx, pg.Schema); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, tableSchema); err != nil {
		return err
	}
	return tx.Commit()
}

// tableMissing refuses a schema that holds the tables of another program.
func tableMissing(ctx context.Context, db *sql.DB, pg database.Postgres) (bool, error) {
	var ours, strange bool
	err := db.QueryRowContext(ctx, `SELECT coalesce(bool_or(c.relname = 'run_events'), false),
		count(*) > 0 AND NOT bool_or(c.relname IN ('run_events', 'ramet_schema'))
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
		pg.Schema).Scan(&ours, &strange)
	if err == nil && strange {
		err = fault.New(fault.StorageForeign, "%s contains tables of another program", pg.Place).
			WithHint("nothing was changed; give another schema with ?schema=NAME")
	}
	return !ours, err
}

// OpenTableWriter opens the log of a run in a PostgreSQL database for appending.
func OpenTableWriter(ctx context.Context, address, runID string) (*Writer, error) {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return nil, err
	}
	w := &Writer{rows: l, unsure: unsureTable, schema: pg.Schema}
	w.before = func() {
		// The session's end frees the lock too, but some time later.
		w.conn.ExecContext(context.Background(), `SELECT pg_advisory_unlock_all()`)
	}
	err = database.Repeat(ctx, func() error { return makeTable(ctx, l.db, pg) })
	if err == nil {
		w.conn, err = l.db.Conn(ctx)
	}
	if err == nil {
		err = w.know(ctx)
	}
	if err == nil {
		err = w.lock(ctx, pg.Schema)
	}
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		err = w.fail("open", err)
		if w.conn != nil {
			w.before() // the lock may be ours already
			err = errors.Join(err, w.conn.Close())
		}
		return nil, errors.Join(err, l.db.Close())
	}
	return w, nil
}

// lockKey returns the number of a run's advisory lock. The server's database is part
// of every lock already, the schema is not.
func lockKey(schema, runID string) int64 {
	sum := sha256.Sum256([]byte("ramet run\x00" + schema + "\x00" + runID))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// heldLocks are the sessions that have an advisory lock, as a part of a query.
const heldLocks = ` FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_database d ON d.oid = l.database
	WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database() AND l.objsubid = 1
	AND l.classid::bigint = ($1::bigint >> 32) & 4294967295 AND l.objid::bigint = $1::bigint & 4294967295`

// lock locks the run for this session; LOCKED names the holder.
func (w *Writer) lock(ctx context.Context, schema string) error {
	key := lockKey(schema, w.run)
	var got bool
	if err := w.conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&got); err != nil || got {
		return err
	}
	holder := "another process"
	var name, since string
	err := w.conn.QueryRowContext(ctx, `SELECT a.application_name, to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
`+heldLocks+` LIMIT 1`, key).Scan(&name, &since)
	if err == nil && name != "" {
		// Quoted, because anybody can choose it.
		holder = fmt.Sprintf("%q, connected since %s", name, since)
	}
	return fault.New(fault.Locked, "%s: held by %s", w.place, holder).WithHint("wait until it ends, or end it")
}

// unsureTable reports whether the change of a table may have happened in spite of the error: the server
// gave no answer, or said that it is going down. If it refused the change, that is certain.
func unsureTable(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return true
	}
	for _, class := range []string{"08", "57P", "58", "XX", "40003"} {
		if strings.HasPrefix(e.Code, class) {
			return true
		}
	}
	return false
}

// RemoveTable takes the events of a run out of a PostgreSQL database. A run that has none is
// nothing.
func RemoveTable(ctx context.Context, address, runID string) error {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return err
	}
	missing, err := tableMissing(ctx, l.db, pg)
	if err == nil && !missing {
		_, err = l.db.ExecContext(ctx, "DELETE FROM run_events WHERE run_id = $1", runID)
	}
	if err != nil {
		err = l.fail("remove", err)
	}
	return errors.Join(err, l.db.Close())
}

// evictTime limits how long a terminated session may take to end.
const evictTime = 10 * time.Second

// EvictWriter ends the session that writes the log of a run, on any host: its host is taken for
// gone. If it is not, it finds the log written by another, and is FENCED. LOCKED: a process connected again meanwhile.
func EvictWriter(ctx context.Context, address, runID string) (err error) {
	l, pg, err := connectTable(address, runID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.db.Close()) }()
	key := lockKey(pg.Schema, runID)
	ended := map[int]bool{}
	for until := time.Now().Add(evictTime); ; {
		var pid int // of the server's process whose session has the lock; 0: none
		err := l.db.QueryRowContext(ctx, `SELECT coalesce(min(pid), 0)`+heldLocks, key).Scan(&pid)
		switch {
		case err != nil:
			return database.ServerFault(l.place, "nothing was changed", err)
		case pid == 0:
			return nil
		case len(ended) > 0 && !ended[pid], time.Now().After(until):
			return fault.New(fault.Locked, "%s: it is written by another process again", l.place)
		}
		if !ended[pid] {
			ended[pid] = true
			if _, err := l.db.ExecContext(ctx, `SELECT pg_terminate_backend($1)`, pid); err != nil {
				return database.ServerFault(l.place, "nothing was changed", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

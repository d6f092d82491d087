package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/store/database"
)

// applicationID marks our files in SQLite's header: "rlog".
const applicationID = 0x726c6f67

const fileSchema = `CREATE TABLE IF NOT EXISTS run_events (
	seq      INTEGER PRIMARY KEY CHECK (seq > 0),
	run_id   TEXT NOT NULL,
	event_id TEXT NOT NULL UNIQUE,
	line     BLOB NOT NULL
) STRICT`

// fileOf describes a file of ours.
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
	w := &Writer{rows: fileRows(path, db), unsure: unsureFile}
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

// unsureFile: SQLite rolls back what it could not write; after a failed sync or
// read it may not know itself.
func unsureFile(err error) bool {
	f, known := fault.Of(database.SQLiteFault("", err))
	return !known || f.Code != fault.StorageFull && f.Code != fault.Conflict && f.Code != fault.Locked
}

// checkOurs refuses a stranger's file, and one in which there is no log yet: NOT_FOUND.
func checkOurs(ctx context.Context, db *sql.DB, path string) error {
	version, err := fileOf(path).Version(ctx, db)
	if err == nil && version == 0 {
		err = fault.New(fault.NotFound, "%s has no events yet", path)
	}
	return database.SQLiteFault(path, err)
}

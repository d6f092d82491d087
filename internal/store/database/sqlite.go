// Package database connects to the two engines, SQLite and PostgreSQL: their addresses, their handles, and their
// errors as faults that a user can act on; schema ownership and versions (File, Tables); repeated transactions
// (Repeat); lost connections (Patience); and notifications (Listen).
package database

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// BusyTimeout limits how long a statement waits for another process, in milliseconds.
const BusyTimeout = 5000

// OpenSQLite makes a handle on a file; params are the driver's. Nothing is opened
// yet.
func OpenSQLite(path, params string, connections int) *sql.DB {
	db := sql.OpenDB(SQLiteConnector(path, params))
	db.SetMaxOpenConns(connections)
	return db
}

// SQLiteConnector makes connections to a file; params are the driver's.
func SQLiteConnector(path, params string) sqldriver.Connector {
	StartSQLite()
	c, err := driver.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)&", BusyTimeout) + params)
	if err != nil {
		panic(err) // only parameters that are no query string
	}
	return c
}

// halfDone reports whether a file cannot be read only because a journal must be rolled back first,
// which takes the right to write.
func halfDone(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code() == lib.SQLITE_READONLY_ROLLBACK || e.Code() == lib.SQLITE_READONLY_RECOVERY)
}

// SQLiteFault turns an error of the driver into a fault that names the file; what
// it does not know stays as it is.
func SQLiteFault(path string, err error) error {
	if _, ours := fault.Of(err); ours || err == nil {
		return err
	}
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	f := func(code fault.Code, what string) *fault.Error { return fault.New(code, "%s: %s: %w", path, what, e) }
	code := e.Code() & 0xff
	if free, known := durable.FreeSpace(filepath.Dir(path)); code == lib.SQLITE_IOERR && known && free == 0 {
		code = lib.SQLITE_FULL // SQLite does not say so of its shared memory
	}
	switch code {
	case lib.SQLITE_FULL:
		return f(fault.StorageFull, "no space left").WithHint("nothing was lost; free some space and repeat")
	case lib.SQLITE_READONLY:
		return f(fault.StorageReadOnly, "the database cannot be written").WithHint("check the owner and mode of the file and its folder")
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return f(fault.Locked, "another process holds the database").WithHint("wait until it ends, then repeat")
	case lib.SQLITE_NOTADB:
		return f(fault.StorageForeign, "it is not a ramet database").WithHint("nothing was changed; give another path")
	case lib.SQLITE_CORRUPT:
		return f(fault.StorageCorrupt, "the database is damaged").WithHint("restore it from a backup")
	case lib.SQLITE_CANTOPEN:
		if err := findCrowding(path); err != nil {
			return err
		}
		fallthrough
	case lib.SQLITE_PERM:
		return f(fault.StorageReadOnly, "the database cannot be opened").WithHint("check the owner and mode of the file and its folder")
	case lib.SQLITE_IOERR:
		if IsUnsynced(e) {
			return f(fault.StorageIO, "the disk did not confirm a write").WithHint("nothing more is written until ramet opens the database again; check the disk first, then run `ramet verify`")
		}
		return f(fault.StorageIO, "reading or writing failed").WithHint("check the disk")
	case lib.SQLITE_CONSTRAINT:
		return f(fault.Conflict, "the database refused the change")
	}
	return err
}

// IsUnsynced reports whether a sync of a file or its folder failed. What the system held in memory may be lost then,
// even if the next sync succeeds.
func IsUnsynced(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (e.Code() == lib.SQLITE_IOERR_FSYNC || e.Code() == lib.SQLITE_IOERR_DIR_FSYNC)
}

// findCrowding finds out whether a file could not be opened because too many are: SQLite
// does not say so.
func findCrowding(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err == nil {
		f.Close()
	}
	if !durable.Crowded(err) {
		return nil
	}
	return durable.Failure("open database", path, err)
}

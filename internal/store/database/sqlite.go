// Package database is how ramet meets the two engines that it keeps things in:
// their addresses, their handles, and their errors as faults that a user can act
// on; whose tables these are and which version they have (File, Tables); what is
// done again when a transaction is a victim (Repeat) or a connection is lost
// (Patience); and notifications (Listen). What is kept there is the business of
// those who use it. Callers who share a write stand in package line.
package database

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite" // and the driver "sqlite"
	lib "modernc.org/sqlite/lib"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// busyTimeout is how long a statement waits for another process, in milliseconds.
const busyTimeout = 5000

// OpenSQLite makes a handle on a file; params are the driver's. Nothing is opened
// yet.
func OpenSQLite(path, params string, connections int) *sql.DB {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + fmt.Sprintf("?_pragma=busy_timeout(%d)&", busyTimeout) + params
	StartSQLite()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic(err) // only an unknown driver's name
	}
	db.SetMaxOpenConns(connections)
	return db
}

// halfDone says whether a file cannot be read only because a journal must be rolled back first,
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
	if code == lib.SQLITE_IOERR && noSpace(path) {
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
		if err := crowded(path); err != nil {
			return err
		}
		fallthrough
	case lib.SQLITE_PERM:
		return f(fault.StorageReadOnly, "the database cannot be opened").WithHint("check the owner and mode of the file and its folder")
	case lib.SQLITE_IOERR:
		return f(fault.StorageIO, "reading or writing failed").WithHint("check the disk")
	case lib.SQLITE_CONSTRAINT:
		return f(fault.Conflict, "the database refused the change")
	}
	return err
}

// crowded finds out whether a file could not be opened because too many are: SQLite
// does not say so.
func crowded(path string) error {
	f, err := os.Open(filepath.Dir(path))
	if err == nil {
		f.Close()
	}
	if !durable.Crowded(err) {
		return nil
	}
	return durable.Failure("open database", path, err)
}

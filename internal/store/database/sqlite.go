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
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
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
	case lib.SQLITE_ERROR:
		if strings.Contains(e.Error(), "no such table") {
			return f(fault.StorageIO, "the file was removed or exchanged while it was open").
				WithHint("put it back; else `ramet server stop --force` ends the kernel that has it open, and the next command begins anew")
		}
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

// StartSQLite sets the engine up as ramet uses it, once; it must precede the first handle. Nothing asks
// the engine how much memory it holds, so it does not count, which takes a lock for every piece. And a
// connection has no lock of its own, which the engine would take several times for every column of every
// row: the driver's connections must not be used by two goroutines at a time anyway, and database/sql sees
// to that. What connections share is locked as ever. An engine that was used before stays as it is.
func StartSQLite() { startOnce.Do(startEngine) }

var (
	startOnce sync.Once
	methods   lib.Tsqlite3_mutex_methods // here, where they do not move while the engine copies them

	// The engine knows a lock by its address. noLock stands for a connection's own lock and that of the start, which has one caller.
	noLock sync.Mutex
	static [lib.SQLITE_MUTEX_STATIC_VFS3 + 1]sync.Mutex

	locksMu sync.Mutex
	locks   map[uintptr]*sync.Mutex // those of files, which nothing else in Go's memory points to
)

func startEngine() {
	locks = map[uintptr]*sync.Mutex{}
	methods = lib.Tsqlite3_mutex_methods{
		FxMutexInit:  entryPoint(func(*libc.TLS) int32 { return lib.SQLITE_OK }),
		FxMutexEnd:   entryPoint(func(*libc.TLS) int32 { return lib.SQLITE_OK }),
		FxMutexAlloc: entryPoint(newLock),
		FxMutexFree:  entryPoint(dropLock),
		FxMutexEnter: entryPoint(enterLock),
		FxMutexTry:   entryPoint(tryLock),
		FxMutexLeave: entryPoint(leaveLock),
	}
	tls := libc.NewTLS()
	defer tls.Close()
	arg := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(uintptr(0))))
	defer libc.Xfree(tls, arg)
	lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MEMSTATUS, libc.VaList(arg, int32(0)))
	lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MUTEX, libc.VaList(arg, uintptr(unsafe.Pointer(&methods))))
	lib.Xsqlite3_initialize(tls) // here, where it has one caller; a failure is an error of the open
}

func newLock(_ *libc.TLS, kind int32) uintptr {
	switch {
	case kind == lib.SQLITE_MUTEX_RECURSIVE:
		return address(&noLock)
	case kind > lib.SQLITE_MUTEX_RECURSIVE:
		return address(&static[kind])
	}
	l := new(sync.Mutex)
	locksMu.Lock()
	defer locksMu.Unlock()
	locks[address(l)] = l
	return address(l)
}

func dropLock(_ *libc.TLS, a uintptr) {
	locksMu.Lock()
	defer locksMu.Unlock()
	delete(locks, a)
}

func enterLock(_ *libc.TLS, a uintptr) {
	if l := lockAt(a); l != &noLock {
		l.Lock()
	}
}

func tryLock(_ *libc.TLS, a uintptr) int32 {
	if l := lockAt(a); l != &noLock && !l.TryLock() {
		return lib.SQLITE_BUSY
	}
	return lib.SQLITE_OK
}

func leaveLock(_ *libc.TLS, a uintptr) {
	if l := lockAt(a); l != &noLock {
		l.Unlock()
	}
}

func address(l *sync.Mutex) uintptr { return uintptr(unsafe.Pointer(l)) }

// lockAt returns the lock at an address: Go's memory does not move, and the map or a variable keeps the lock alive.
func lockAt(a uintptr) *sync.Mutex { return *(**sync.Mutex)(unsafe.Pointer(&a)) }

// entryPoint returns a function as C made Go points to it.
func entryPoint[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

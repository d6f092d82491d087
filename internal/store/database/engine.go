package database

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// StartSQLite sets the engine up as ramet uses it, once; it must precede the first handle. Nothing asks
// the engine how much memory it holds, so it does not count, which takes a lock for every piece. And a
// connection has no lock of its own, which the engine would take several times for every column of every
// row: the driver's connections must not be used by two goroutines at a time anyway, and database/sql sees
// to that. What connections share is locked as ever. An engine that was used before stays as it is.
func StartSQLite() { startOnce.Do(startEngine) }

var (
	startOnce sync.Once
	methods   lib.Tsqlite3_mutex_methods // here, where they do not move while the engine copies them

	// The engine knows a lock by its address. nobody's is every connection's lock, and that of the start, which has one caller.
	nobody sync.Mutex
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
	lib.Xsqlite3_initialize(tls) // here, where it has one caller; a failure is told to who opens
}

func newLock(_ *libc.TLS, kind int32) uintptr {
	switch {
	case kind == lib.SQLITE_MUTEX_RECURSIVE:
		return address(&nobody)
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
	if l := lockAt(a); l != &nobody {
		l.Lock()
	}
}

func tryLock(_ *libc.TLS, a uintptr) int32 {
	if l := lockAt(a); l != &nobody && !l.TryLock() {
		return lib.SQLITE_BUSY
	}
	return lib.SQLITE_OK
}

func leaveLock(_ *libc.TLS, a uintptr) {
	if l := lockAt(a); l != &nobody {
		l.Unlock()
	}
}

func address(l *sync.Mutex) uintptr { return uintptr(unsafe.Pointer(l)) }

// lockAt returns the lock at an address: Go's memory does not move, and the map or a variable keeps the lock alive.
func lockAt(a uintptr) *sync.Mutex { return *(**sync.Mutex)(unsafe.Pointer(&a)) }

// entryPoint returns a function as C made Go points to it.
func entryPoint[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

package probe

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"ramet/internal/base/step"
	"ramet/internal/store/database"
)

// Functions of a file and of a file system, as C made Go has them.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncFolder int32) int32
	writeFunc    = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
	setFunc      = func(tls *libc.TLS, vfs, name, call uintptr) int32
	getFunc      = func(tls *libc.TLS, vfs, name uintptr) uintptr
	folderFunc   = func(tls *libc.TLS, name, fd uintptr) int32
)

// CountDatabaseSteps makes every write, truncation, sync and removal of SQLite's databases, logs and journals a step. It must be
// called once, before a database is opened. Temporary files and shared memory, which nothing reads after a crash,
// are left out.
func CountDatabaseSteps() {
	methodTables = map[methodsOf]*lib.Tsqlite3_io_methods{}
	database.StartSQLite()
	tls := libc.NewTLS()
	defer tls.Close()
	at := lib.Xsqlite3_vfs_find(tls, 0)
	vfs := pointer[lib.Tsqlite3_vfs](at)
	open, remove := function[openFunc](vfs.FxOpen), function[deleteFunc](vfs.FxDelete)
	vfs.FxOpen = entry(func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
		code := open(tls, vfs, name, file, flags, outFlags)
		f := pointer[lib.Tsqlite3_file](file)
		if place := placeOf(flags); place != "" && code == lib.SQLITE_OK && f.FpMethods != 0 {
			f.FpMethods = counted(f.FpMethods, place)
		}
		return code
	})
	vfs.FxDelete = entry(func(tls *libc.TLS, vfs, name uintptr, syncFolder int32) int32 {
		if step.At(placeOfName(libc.GoString(name))+"/remove") != nil {
			return lib.SQLITE_IOERR_DELETE
		}
		return remove(tls, vfs, name, syncFolder)
	})
	countFolders(tls, at, vfs)
}

// countFolders makes the sync of a folder a step: SQLite opens it for nothing else. One that could not be opened
// is no error to SQLite, so this step cannot fail.
func countFolders(tls *libc.TLS, at uintptr, vfs *lib.Tsqlite3_vfs) {
	name, err := libc.CString("openDirectory")
	if err != nil || vfs.FxSetSystemCall == 0 {
		return
	}
	defer libc.Xfree(tls, name)
	was := function[getFunc](vfs.FxGetSystemCall)(tls, at, name)
	if was == 0 {
		return // not this system's
	}
	openFolder := function[folderFunc](was)
	function[setFunc](vfs.FxSetSystemCall)(tls, at, name, entry(func(tls *libc.TLS, name, fd uintptr) int32 {
		step.At("folder/sync")
		return openFolder(tls, name, fd)
	}))
}

// methodsOf says for what a table of methods was made.
type methodsOf struct {
	place    string
	replaces uintptr
}

// methodTables are the tables of methods that were made.
var (
	methodTables   map[methodsOf]*lib.Tsqlite3_io_methods
	methodTablesMu sync.Mutex
)

// counted returns a table of methods that counts the steps in a place.
func counted(methods uintptr, place string) uintptr {
	methodTablesMu.Lock()
	defer methodTablesMu.Unlock()
	key := methodsOf{place, methods}
	table := methodTables[key]
	if table == nil {
		table = newTable(*pointer[lib.Tsqlite3_io_methods](methods), place)
		methodTables[key] = table
	}
	return uintptr(unsafe.Pointer(table))
}

func newTable(methods lib.Tsqlite3_io_methods, place string) *lib.Tsqlite3_io_methods {
	write, truncate, sync := function[writeFunc](methods.FxWrite), function[truncateFunc](methods.FxTruncate), function[syncFunc](methods.FxSync)
	methods.FxWrite = entry(func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
		if err := step.At(place + "/write"); errors.Is(err, syscall.ENOSPC) {
			return lib.SQLITE_FULL
		} else if err != nil {
			return lib.SQLITE_IOERR_WRITE
		}
		return write(tls, file, data, n, offset)
	})
	methods.FxTruncate = entry(func(tls *libc.TLS, file uintptr, size int64) int32 {
		if step.At(place+"/truncate") != nil {
			return lib.SQLITE_IOERR_TRUNCATE
		}
		return truncate(tls, file, size)
	})
	methods.FxSync = entry(func(tls *libc.TLS, file uintptr, flags int32) int32 {
		if step.At(place+"/sync") != nil {
			return lib.SQLITE_IOERR_FSYNC
		}
		return sync(tls, file, flags)
	})
	return &methods
}

// placeOf names a kind of file; it is empty for one that is not kept.
func placeOf(flags int32) string {
	switch {
	case flags&lib.SQLITE_OPEN_MAIN_DB != 0:
		return "db"
	case flags&lib.SQLITE_OPEN_WAL != 0:
		return "wal"
	case flags&(lib.SQLITE_OPEN_MAIN_JOURNAL|lib.SQLITE_OPEN_SUPER_JOURNAL) != 0:
		return "journal"
	}
	return ""
}

func placeOfName(path string) string {
	for _, place := range []string{"wal", "journal"} {
		if strings.HasSuffix(path, "-"+place) {
			return place
		}
	}
	return "db"
}

// functions keeps what only SQLite refers to, which Go's collector does not see.
var functions []any

// entry returns a Go function as C made Go refers to it.
func entry[F any](f F) uintptr {
	functions = append(functions, f)
	return *(*uintptr)(unsafe.Pointer(&f))
}

// function returns the Go function that C made Go refers to.
func function[F any](at uintptr) F {
	return *(*F)(unsafe.Pointer(&at))
}

// pointer returns what is at an address of SQLite's memory.
func pointer[T any](at uintptr) *T { return *(**T)(unsafe.Pointer(&at)) }

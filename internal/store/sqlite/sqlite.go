// Package sqlite keeps a workspace in one SQLite file, embedded in the binary.
//
// One connection writes, a few read (WAL). A commit is on the disk when it returns (synchronous FULL).
// The tables, the version and agent 0 are made in one transaction, so that a
// process killed at first start leaves nothing half-made. Deleted bytes are
// overwritten (secure_delete).
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/store"
	"ramet/internal/store/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our files: "ramt" in SQLite's header.
const applicationID = 0x72616d74

// Options of Open.
type Options struct {
	Cwd  string // folder of agent 0, if it has to be made
	Mark string // a file elsewhere that says that this database was begun; empty: this is not recorded
}

// Open opens the workspace in a file, and makes it if there is none. A file that has
// become empty is not begun anew.
func Open(ctx context.Context, path string, o Options) (*store.Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := prepareFile(path, o.Mark)
	if err != nil {
		return nil, err
	}
	d := &dialect{path: path, readOnly: f.readOnly}
	if err := d.open(ctx, f); err != nil {
		return nil, err
	}
	if err := d.migrate(ctx, o, f.begun); err != nil {
		return nil, errors.Join(d.Fault(err), d.close())
	}
	s := store.New(d.writer, d.readers, d, d.close)
	if err := d.checkIdentity(ctx, s, o.Mark, f); err != nil {
		return nil, errors.Join(d.Fault(err), d.close())
	}
	return s, nil
}

// fullLog sets how many pages the log has when a write empties it, which takes that write several times as
// long as another. A fork adds eight: with SQLite's own thousand it would be one fork in 120. More would
// cost all others: as long as the log grows, a commit takes longer than in a log that has its size.
const fullLog = "2000"

func (d *dialect) open(ctx context.Context, f file) error {
	if !f.readOnly {
		d.writer = openHandle(d.path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
			"&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=wal_autocheckpoint("+fullLog+")", 1)
		d.readers = openHandle(d.path, "_pragma=query_only(1)", 4)
		return nil
	}
	d.writer = openHandle(d.path, "mode=ro&_txlock=deferred", 1)
	d.readers = openHandle(d.path, "mode=ro", 4)
	if err := d.readers.PingContext(ctx); err == nil {
		return nil
	}
	// A folder where not even the shared-memory file of WAL can be made.
	if err := d.close(); err != nil {
		return err
	}
	d.writer = openHandle(d.path, "mode=ro&immutable=1", 1)
	d.readers = openHandle(d.path, "mode=ro&immutable=1", 4)
	return nil
}

// openHandle makes a handle on a file; params are the driver's.
func openHandle(path, params string, connections int) *sql.DB {
	db := sql.OpenDB(keeping{database.SQLiteConnector(path, params)})
	db.SetMaxOpenConns(connections)
	return db
}

// close closes the writer last, since it has synced the folder of the log already; a connection that empties the
// log and has not does so.
func (d *dialect) close() error {
	return errors.Join(d.readers.Close(), d.writer.Close())
}

// file holds what can be read from a database file before SQLite opens it.
type file struct {
	readOnly bool
	begun    bool   // it held a workspace before
	removed  bool   // it held a workspace before, and is not there
	zero     string // agent 0 of that workspace; empty: unknown
}

// prepareFile makes the folder of a new file, and refuses what is not a whole
// SQLite file of ours. Switching a stranger's file to WAL would change it, so
// this looks at the header itself.
func prepareFile(path, mark string) (file, error) {
	info, h, err := examineFile(path)
	begun, zero := readMark(mark)
	if errors.Is(err, fs.ErrNotExist) {
		if err := unmarkBegun(mark); err != nil {
			return file{}, err
		}
		return file{removed: begun}, createFile(path)
	}
	if info == nil {
		return file{}, err
	}
	f := file{readOnly: readOnly(path, info), begun: begun, zero: zero}
	if f.begun && info.Size() == 0 && !h.walPresent {
		return file{}, emptiedFile(path)
	}
	if err != nil {
		return f, err
	}
	if !f.readOnly && info.Size() > 0 {
		removeSpare(path)
	}
	return f, nil
}

// examineFile reads the header of a file and reports whether it is a complete one of ours; no header if it could not be read.
//
// Size, header and log are three looks. Between them another process may carry its log into the file and remove it, so that
// the header is newer than the size, and no process sees the log. Then they fit the next time; what was cut stays so.
func examineFile(path string) (info os.FileInfo, h header, err error) {
	for range 5 {
		if info, err = os.Stat(path); err != nil {
			return nil, h, fault.New(fault.StorageIO, "open database: %w", err).WithHint("choose another place with --db or --home")
		}
		if !info.Mode().IsRegular() {
			return nil, h, fault.New(fault.StorageForeign, "%s is not a file", path).WithHint("--db wants the path of a database file, or a postgres:// URL")
		}
		if h, err = readHeader(path); err != nil {
			return nil, h, err
		}
		if err = h.check(path, info.Size()); !fault.Is(err, fault.StorageCorrupt) {
			break
		}
		meanwhile()
	}
	return info, h, err
}

// meanwhile lets others go on.
var meanwhile = func() { time.Sleep(10 * time.Millisecond) }

func createFile(path string) error {
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return unwritableFile(path, err)
	}
	// Made here, empty, so that no other user can read it from its first byte.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unwritableFile(path, err)
	}
	return f.Close()
}

func unwritableFile(path string, err error) error {
	code := fault.StorageIO
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errReadOnlyFS) {
		code = fault.StorageReadOnly
	} else if errors.Is(err, errNoSpace) {
		code = fault.StorageFull
	}
	return fault.New(code, "create %s: %w", path, err).WithHint("choose another place with --db or --home")
}

// migrate brings the schema up to date and ensures agent 0.
func (d *dialect) migrate(ctx context.Context, o Options, begun bool) error {
	f, err := d.file()
	if err != nil {
		return err
	}
	version, err := f.Version(ctx, d.readers)
	if err != nil || version == len(f.Steps) {
		return err
	}
	if version == 0 && begun {
		return emptiedFile(d.path)
	}
	if d.readOnly {
		return fault.New(fault.StorageReadOnly, "%s has schema version %d and can't be upgraded to %d: it can't be written", d.path, version, len(f.Steps)).
			WithHint("check the owner and mode of the file and its folder")
	}
	return f.Migrate(ctx, d.writer, func(tx *sql.Tx) error { return store.Ensure(ctx, tx, d, o.Cwd) })
}

// file returns what a file of ours says of itself.
func (d *dialect) file() (database.File, error) {
	steps, err := store.Migrations(migrations)
	return database.File{Path: d.path, ID: applicationID, What: whatItIs, Hint: whatToDo, Steps: steps}, err
}

// What is said to a caller that gives another file.
const (
	whatItIs = "a ramet database"
	whatToDo = "nothing was changed; give another path with --db"
)

func foreignFile(path string) error {
	return database.File{Path: path, What: whatItIs, Hint: whatToDo}.Foreign()
}

// removeSpare removes the second name that older versions gave to SQLite's log, to keep its blocks. SQLite never
// reads it. A file of that name that is no log is left alone.
func removeSpare(db string) {
	path := db + "-spare"
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	var head [4]byte // of a log in either order of bytes, of one that was put aside, or of one whose wiping was interrupted
	f.Read(head[:])
	switch string(head[:]) {
	case "\x37\x7f\x06\x82", "\x37\x7f\x06\x83", "rame", "\x00\x00\x00\x00":
		step.Remove(path)
	}
}

// Export writes a new workspace file from the rows of another store, so that
// a workspace kept elsewhere can be carried away as one file.
func Export(ctx context.Context, path string, from *sql.Tx) error {
	return Deliver(path, func(temp string) error {
		if err := createFile(temp); err != nil {
			return err
		}
		d := &dialect{path: temp}
		if err := d.open(ctx, file{}); err != nil {
			return err
		}
		return errors.Join(d.fill(ctx, from), d.close())
	})
}

func (d *dialect) fill(ctx context.Context, from *sql.Tx) error {
	f, err := d.file()
	if err != nil {
		return err
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f.Build(ctx, tx); err != nil {
		return err
	}
	if err := store.Copy(ctx, from, tx); err != nil {
		return d.Fault(err)
	}
	if err := tx.Commit(); err != nil {
		return d.Fault(err)
	}
	return d.Scrub(ctx) // everything into the one file, before it gets its name
}

// A new file is empty for a moment, and a first start that is killed leaves it so. A
// file that held a workspace and is empty now was emptied by another process. What tells them
// apart is a mark, kept elsewhere, that is made once the tables are there.

// readMark reports whether a database was begun, and which agent 0 it had.
func readMark(mark string) (begun bool, zero string) {
	if mark == "" {
		return false, ""
	}
	text, err := os.ReadFile(mark)
	_, zero, _ = strings.Cut(string(text), "\n")
	return err == nil, strings.TrimSpace(zero)
}

// checkIdentity leaves a notice in the store if its file was removed or exchanged since it was opened last, and
// remembers whose it is now. Where that cannot be written, work continues without.
func (d *dialect) checkIdentity(ctx context.Context, s *store.Store, mark string, f file) error {
	if mark == "" {
		return nil
	}
	var zero string
	if err := d.readers.QueryRowContext(ctx, `SELECT uuid FROM agents WHERE parent_uuid IS NULL`).Scan(&zero); err != nil {
		return err
	}
	switch {
	case f.removed:
		s.SetNotice("the database " + d.path + " was removed: this is a new, empty workspace")
	case f.zero != "" && f.zero != zero:
		s.SetNotice("the database " + d.path + " was exchanged: it has another workspace than before (agent 0 is " + zero + ", and was " + f.zero + ")")
	}
	if f.zero != zero && durable.MakeFolder(filepath.Dir(mark), 0o700) == nil {
		_ = durable.WriteFile(mark, []byte(d.path+"\n"+zero+"\n"), 0o600)
	}
	return nil
}

// unmarkBegun forgets a database that is gone, so that a new one can begin.
func unmarkBegun(mark string) error {
	if mark == "" {
		return nil
	}
	if err := step.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("remove", mark, err)
	}
	return nil
}

func emptiedFile(path string) error {
	return fault.New(fault.StorageCorrupt, "%s is empty, and held a workspace before", path).
		WithHint("restore it from a backup, or remove it to start again; nothing was changed")
}

// Look reads the outline of the workspace in a file without changing anything: an old one stays
// old, and no file appears beside it.
func Look(ctx context.Context, path string) (store.Outline, error) {
	_, h, err := examineFile(path)
	if err != nil {
		return store.Outline{}, err
	}
	how := "mode=ro"
	if !h.walPresent { // no process writes: what lies in the file is all, and SQLite would begin a log to read it
		how += "&immutable=1"
	}
	db := openHandle(path, how, 1)
	defer db.Close()
	out, err := look(ctx, path, db)
	if err != nil {
		return out, (&dialect{path: path}).Fault(err)
	}
	return out, nil
}

func look(ctx context.Context, path string, db *sql.DB) (store.Outline, error) {
	d := &dialect{path: path}
	f, err := d.file()
	if err != nil {
		return store.Outline{}, err
	}
	switch version, err := f.Version(ctx, db); {
	case err != nil:
		return store.Outline{}, err
	case version == 0:
		return store.Outline{}, fault.New(fault.NotFound, "%s contains no workspace yet", path)
	}
	return store.Look(ctx, db, d)
}

var (
	errReadOnlyFS = syscall.EROFS
	errNoSpace    = syscall.ENOSPC
)

// header is the beginning of an SQLite file (see "Database File Format" in
// SQLite's documentation).
type header struct {
	magic      string
	pageSize   int64
	pages      int64 // 0 if the file's own count is not to be trusted
	appID      uint32
	bytes      int
	walPresent bool
	unborn     bool // its first transaction was broken off; SQLite makes it empty again
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, fault.New(fault.StorageIO, "open %s: %w", path, err)
	}
	defer f.Close()
	var b [100]byte
	n, err := io.ReadFull(f, b[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return header{}, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	h := header{bytes: n, magic: string(b[:16]), pageSize: int64(binary.BigEndian.Uint16(b[16:])),
		appID: binary.BigEndian.Uint32(b[68:])}
	if h.pageSize == 1 {
		h.pageSize = 64 << 10
	}
	// The count holds only if it was written with the last change.
	if binary.BigEndian.Uint32(b[24:]) == binary.BigEndian.Uint32(b[92:]) {
		h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	}
	if log, err := os.Stat(path + "-wal"); err == nil {
		h.walPresent = log.Size() > 0
	}
	h.unborn, err = isUnborn(path + "-journal")
	return h, err
}

// journalMagic begins the journal of a transaction that was not ended.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// isUnborn reports whether a journal is that of the first transaction of a file: the power failed
// before there was anything in it.
func isUnborn(journal string) (bool, error) {
	f, err := os.Open(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.StorageIO, "open %s: %w", journal, err)
	}
	defer f.Close()
	var b [20]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return false, nil // it is not begun
	}
	return string(b[:8]) == journalMagic && binary.BigEndian.Uint32(b[16:]) == 0, nil
}

const magic = "SQLite format 3\x00"

func (h header) check(path string, size int64) error {
	switch {
	case size == 0 && h.walPresent:
		return truncatedFile(path) // SQLite would throw the log away
	case size == 0, h.unborn:
		return nil // new, or killed before its first commit
	case h.bytes < 100 && h.magic[:min(h.bytes, len(magic))] == magic[:min(h.bytes, len(magic))]:
		return truncatedFile(path)
	case h.magic != magic:
		return foreignFile(path)
	case h.pages > 0 && size < h.pages*h.pageSize && !h.walPresent:
		// With a log, this may be a checkpoint that was broken off after its
		// first page, by a crash or a full disk. SQLite continues with it.
		return truncatedFile(path)
	case h.appID != applicationID && (h.appID != 0 || h.pages > 1 && !h.walPresent):
		return foreignFile(path)
	}
	return nil
}

func truncatedFile(path string) error {
	return fault.New(fault.StorageCorrupt, "%s is cut: it is shorter than its header says", path).
		WithHint("restore it from a backup; nothing was changed")
}

// readOnly honours the file's mode even for root, who could write all the same.
func readOnly(path string, info os.FileInfo) bool {
	return info.Mode()&0o222 == 0 || !writable(path)
}

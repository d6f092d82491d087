package sqlite

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/database"
)

type dialect struct {
	path     string
	readOnly bool
	writer   *sql.DB
	readers  *sql.DB
}

// Begin implements store.Dialect.
func (d *dialect) Begin(ctx context.Context) (store.Transaction, error) {
	return d.writer.BeginTx(ctx, nil)
}

// ForUpdate implements store.Dialect: a writing transaction is immediate and locks the whole file.
func (d *dialect) ForUpdate() string { return "" }

func (d *dialect) Now() string { return `CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)` }

// NextMessages implements store.Dialect: rows are never deleted, so the largest id is the last one.
func (d *dialect) NextMessages(ctx context.Context, tx store.Tx, n int) ([]id.Message, error) {
	first, err := nextID(ctx, tx, "messages")
	out := make([]id.Message, n)
	for i := range out {
		out[i] = id.Message(first + int64(i))
	}
	return out, err
}

// Draws implements store.Dialect: the database is in this process.
func (d *dialect) Draws(string, int) string { return "" }

func (d *dialect) NextLetter(ctx context.Context, tx store.Tx) (int64, error) {
	return nextID(ctx, tx, "mail")
}

func nextID(ctx context.Context, tx store.Tx, table string) (int64, error) {
	var n int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) + 1 FROM `+table).Scan(&n)
	return n, err
}

// Backwards implements store.Dialect: an index has them in this order.
func (d *dialect) Backwards(agent, above, upTo, wanted string) string {
	return `agent_uuid = ` + agent + ` AND id > ` + above + ` AND id <= ` + upTo + wanted + ` ORDER BY id DESC`
}

func (d *dialect) Run(ctx context.Context, tx store.Tx, statements []store.Statement, _ bool) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *dialect) LockTable(context.Context, store.Tx, string) error { return nil }

func (d *dialect) Bytes() string { return "BLOB" }

// Announce implements store.Dialect: a file has no listeners; the process that writes it notifies the others itself.
func (d *dialect) Announce(string, ...id.Agent) []store.Statement { return nil }

func (d *dialect) Listen(ctx context.Context, _ func(registry.Ring)) error {
	<-ctx.Done()
	return nil
}

func (d *dialect) Snapshot() *sql.TxOptions { return &sql.TxOptions{ReadOnly: true} }

func (d *dialect) Fault(err error) error {
	if _, ours := fault.Of(err); ours {
		return err
	}
	if err = database.SQLiteFault(d.path, err); fault.Is(err, fault.StorageForeign) {
		return foreignFile(d.path)
	}
	return err
}

// Scrub empties the write-ahead log; the pages themselves were overwritten
// when the content was deleted.
func (d *dialect) Scrub(ctx context.Context) error {
	var busy, logged, moved int
	if err := d.writer.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return fault.New(fault.Locked, "%s-wal still contains the deleted bytes: another process is reading", d.path).
			WithHint("end it and repeat the command")
	}
	return nil
}

// Changes implements store.Dialect: one writer at a time commits in the order of ids, so the last ids
// seen are the cursor.
func (d *dialect) Changes(ctx context.Context, after registry.Cursor, limit int) ([]registry.Change, registry.Cursor, error) {
	var at store.Position
	if after != "" {
		text, err := base64.RawURLEncoding.DecodeString(string(after))
		if n, serr := fmt.Sscanf(string(text), "sqlite %d %d", &at.Entry, &at.Letter); err != nil || serr != nil || n != 2 {
			return nil, "", store.BadCursor(after)
		}
	}
	tx, err := d.readers.BeginTx(ctx, d.Snapshot())
	if err != nil {
		return nil, "", err
	}
	defer tx.Rollback()
	out, err := store.Page(ctx, tx, &at, limit, "")
	if err != nil {
		return nil, "", err
	}
	return out, cursorAt(at), nil
}

// Latest implements store.Dialect: the largest ids are the last ones.
func (d *dialect) Latest(ctx context.Context) (registry.Cursor, error) {
	var at store.Position
	err := d.readers.QueryRowContext(ctx, `SELECT coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(id) FROM mail), 0)`).
		Scan(&at.Entry, &at.Letter)
	return cursorAt(at), err
}

func cursorAt(at store.Position) registry.Cursor {
	return registry.Cursor(base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "sqlite %d %d", at.Entry, at.Letter)))
}

// Backup implements store.Dialect: VACUUM INTO copies one moment without stopping writers, but does not
// sync; so it works on a temporary name.
func (d *dialect) Backup(ctx context.Context, path string) error {
	return Deliver(path, func(temp string) error {
		// Our readers may not even write elsewhere (query_only). The copy gets
		// secure_delete from its source, or stale copies of rows would stay in
		// its pages, where no later redaction reaches them.
		db := openHandle(d.path, "mode=ro&_pragma=secure_delete(1)", 1)
		_, err := db.ExecContext(ctx, `VACUUM INTO $1`, temp)
		return errors.Join(blameCopy(path, err), db.Close())
	})
}

// blameCopy names the copy, not the database, where it is the copy that could not
// be written.
func blameCopy(path string, err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return (&dialect{path: path}).Fault(err)
	}
	return err
}

// isHeld reports whether another process holds the database.
func isHeld(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

// Deliver lets fill write a new file and gives it its name when it is whole
// and on the disk. An existing file is never replaced.
func Deliver(path string, fill func(temp string) error) error {
	if _, err := os.Lstat(path); err == nil {
		return backupExists(path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fault.New(fault.NotFound, "no folder %s for the copy", filepath.Dir(path)).
			WithHint("make it first, or choose another place")
	}
	temp := fmt.Sprintf("%s.%s.tmp", path, id.NewAgent().Short())
	defer func() {
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			step.Remove(temp + end)
		}
	}()
	if err := fill(temp); err != nil {
		return err
	}
	if err := errors.Join(step.Chmod(temp, 0o600), syncFile(temp)); err != nil {
		return unwritableFile(path, err)
	}
	// A link, not a rename: it fails if another process made the file meanwhile.
	if err := step.Link(temp, path); errors.Is(err, fs.ErrExist) {
		return backupExists(path)
	} else if err != nil {
		return unwritableFile(path, err)
	}
	return durable.SyncFolder(filepath.Dir(path))
}

func backupExists(path string) error {
	return fault.New(fault.Conflict, "%s exists already", path).WithHint("a backup never replaces a file; choose another name")
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(step.Of(f).Sync(), f.Close())
}

func (d *dialect) Describe(ctx context.Context) (registry.Description, error) {
	out := registry.Description{Engine: "sqlite", Place: d.path, ReadOnly: d.readOnly, Now: time.Now().UTC()}
	if err := d.readers.QueryRowContext(ctx, `SELECT sqlite_version(), user_version FROM pragma_user_version`).
		Scan(&out.Version, &out.Schema); err != nil {
		return out, err
	}
	rows, err := d.readers.QueryContext(ctx, `SELECT quick_check FROM pragma_quick_check LIMIT 20`)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return out, err
		}
		if s != "ok" {
			out.Problems = append(out.Problems, s)
		}
	}
	return out, rows.Err()
}

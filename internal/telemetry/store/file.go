package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ramet/internal/database"
	"ramet/internal/durable"
	"ramet/internal/fault"
)

// applicationID marks our files in SQLite's header: "rtel".
const applicationID = 0x7274656c

// OpenFile opens the records in an SQLite file, and makes it, readable to its owner
// alone, if there is none. Several processes may have it open.
func OpenFile(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	d := dialect{
		place: path,
		mark:  func(int) string { return "?" },
		fault: func(err error) error { return database.SQLiteFault(path, err) },
		fatal: func(err error) bool {
			// What could not be written was rolled back; after a failed sync SQLite may
			// not know itself.
			code := fault.CodeOf(err)
			return code == fault.StorageIO || code == fault.StorageCorrupt
		},
	}
	if err := peek(ctx, path); err != nil {
		return nil, err
	}
	writer := database.OpenSQLite(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", 1)
	readers := database.OpenSQLite(path, "_pragma=query_only(1)", 4)
	err = migrateFile(ctx, writer, path)
	var s *Store
	if err == nil {
		s, err = newStore(ctx, d, writer, readers)
	}
	if err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return s, nil
}

func prepareFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fault.New(fault.StorageForeign, "%s is not a file", path).WithHint("nothing was changed; give another path")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return durable.Failure("open", path, err)
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Made here, so that its name is durable and nobody else can read it.
	if err := durable.CreateFile(path, nil, 0o600); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}

// peek refuses a stranger's file without changing it: opening it for writing switches it
// to WAL.
func peek(ctx context.Context, path string) error {
	db := database.OpenSQLite(path, "mode=ro", 1)
	_, err := fileVersion(ctx, db, path)
	return errors.Join(database.SQLiteFault(path, err), db.Close())
}

type queryRower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// fileVersion is that of our tables, 0 for an empty file.
func fileVersion(ctx context.Context, q queryRower, path string) (int, error) {
	var app, version, objects int
	if err := q.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&app, &version, &objects); err != nil {
		return 0, err
	}
	if app != applicationID && (app != 0 || objects > 0) {
		return 0, fault.New(fault.StorageForeign, "%s does not hold telemetry", path).WithHint("nothing was changed; give another path")
	}
	return version, checkVersion(path, version, len(fileSteps))
}

func checkVersion(place string, have, known int) error {
	if have > known {
		return fault.New(fault.StorageNewer, "%s has version %d, this ramet knows %d", place, have, known).WithHint("use a newer ramet")
	}
	return nil
}

// migrateFile makes the tables that are missing, in one transaction.
func migrateFile(ctx context.Context, db *sql.DB, path string) error {
	if version, err := fileVersion(ctx, db, path); err != nil || version == len(fileSteps) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version, err := fileVersion(ctx, tx, path) // another process may have been faster
	if err != nil {
		return err
	}
	for _, step := range fileSteps[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, len(fileSteps))); err != nil {
		return err
	}
	return tx.Commit()
}

package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/store/database"
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
		fault: func(err error) error { return database.SQLiteFault(path, err) },
		fatal: func(err error) bool {
			// What could not be written was rolled back; after a failed sync SQLite may
			// not know itself.
			code := fault.CodeOf(err)
			return code == fault.StorageIO || code == fault.StorageCorrupt
		},
	}
	f := database.File{Path: path, ID: applicationID, What: "a database of telemetry", Steps: fileSteps()}
	if _, err := f.Peek(ctx); err != nil {
		return nil, err
	}
	writer := database.OpenSQLite(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", 1)
	readers := database.OpenSQLite(path, "_pragma=query_only(1)", 4)
	if err := f.Migrate(ctx, writer, nil); err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return &Store{dialect: d, writer: writer, readers: readers, now: time.Now}, nil
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
	// Made here, so that its name is durable and other users cannot read it.
	if err := durable.CreateFile(path, nil, 0o600); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}

package sqlite

import (
	"context"
	"database/sql"

	"ramet/internal/base/fault"
	"ramet/internal/store"
)

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

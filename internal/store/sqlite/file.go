package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"ramet/internal/store"
)

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
	if err := f.Build(store.Lasting(ctx), tx); err != nil {
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

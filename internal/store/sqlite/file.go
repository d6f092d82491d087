package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"ramet/internal/store"
)

// Export writes a new workspace file from the rows of another store, so that
// a workspace kept elsewhere can be carried away as one file.
func Export(ctx context.Context, path string, from *sql.Tx) error {
	return Deliver(path, func(temp string) error {
		if err := create(temp); err != nil {
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
	steps, err := store.Migrations(migrations)
	if err != nil {
		return err
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := d.build(ctx, tx, steps); err != nil {
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

// build makes the tables that are still missing and marks the file as ours.
func (d *dialect) build(ctx context.Context, tx *sql.Tx, steps []string) error {
	have, err := d.version(ctx, tx)
	if err != nil {
		return err
	}
	for _, step := range steps[min(have, len(steps)):] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, len(steps)))
	return err
}

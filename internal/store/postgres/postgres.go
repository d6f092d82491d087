// Package postgres keeps a workspace in one schema of a PostgreSQL database,
// shared by several processes and hosts.
//
// A verb locks the rows of the agents it writes for; ids come from a sequence
// after that, so that they ascend along every history. The URL is libpq's,
// with one parameter of ours: schema, by default "ramet".
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/database"
	"ramet/internal/fault"
	"ramet/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const connections = 8

// Options of Open.
type Options struct {
	Cwd string // folder of agent 0, if it has to be made
	// Export writes a snapshot's rows into a new file, for backups.
	Export func(ctx context.Context, path string, from *sql.Tx) error
}

// IsURL says whether a --db names a PostgreSQL database.
func IsURL(s string) bool {
	return database.IsPostgres(s)
}

// Open connects to a workspace, and makes its schema if there is none.
func Open(ctx context.Context, address string, o Options) (*store.Store, error) {
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*pg.Config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	d := &dialect{db: db, config: pg.Config, schema: pg.Schema, place: pg.Place, export: o.Export}
	if err := d.migrate(ctx, o); err != nil {
		return nil, errors.Join(d.Fault(err), db.Close())
	}
	return store.New(db, db, d, db.Close), nil
}

// migrate brings the schema up to date and ensures agent 0, in one
// transaction.
func (d *dialect) migrate(ctx context.Context, o Options) error {
	steps, err := store.Migrations(migrations)
	if err != nil {
		return err
	}
	version, err := d.version(ctx, d.db)
	if err != nil {
		return err
	}
	if err := store.CheckVersion(d.place, version, len(steps)); err != nil || version == len(steps) {
		return err
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, database.SchemaLock); err != nil {
		return err
	}
	if version, err = d.version(ctx, tx); err != nil {
		return err
	}
	if version == 0 {
		if _, err := tx.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{d.schema}.Sanitize()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `CREATE TABLE ramet_schema (version BIGINT NOT NULL)`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO ramet_schema VALUES (0)`); err != nil {
			return err
		}
	}
	for _, step := range steps[min(version, len(steps)):] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	if err := store.Ensure(ctx, tx, d, o.Cwd); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE ramet_schema SET version = $1`, len(steps)); err != nil {
		return err
	}
	return tx.Commit()
}

type queryRower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version is that of our schema, 0 if there is none; a schema with somebody
// else's tables is refused. The logs of runs may be there already.
func (d *dialect) version(ctx context.Context, q queryRower) (int, error) {
	var ours bool
	var tables int
	if err := q.QueryRowContext(ctx, `SELECT coalesce(bool_or(c.relname = 'ramet_schema'), false), count(*) FILTER (WHERE c.relname <> 'run_events')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
		d.schema).Scan(&ours, &tables); err != nil {
		return 0, err
	}
	if !ours {
		if tables > 0 {
			return 0, fault.New(fault.StorageForeign, "%s holds tables of another program", d.place).
				WithHint("nothing was changed; give another schema with ?schema=NAME")
		}
		return 0, nil
	}
	var version int
	err := q.QueryRowContext(ctx, `SELECT version FROM ramet_schema`).Scan(&version)
	return version, err
}

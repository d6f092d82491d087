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

	"ramet/internal/store"
	"ramet/internal/store/database"
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

// IsURL reports whether a --db names a PostgreSQL database.
func IsURL(s string) bool {
	return database.IsPostgres(s)
}

// Open connects to a workspace, and makes its schema if there is none.
func Open(ctx context.Context, address string, o Options) (*store.Store, error) {
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return nil, err
	}
	db := pg.Open(connections)
	d := &dialect{db: db, config: pg.Config, schema: pg.Schema, place: pg.Place, export: o.Export}
	if err := database.Repeat(ctx, func() error { return d.migrate(ctx, o) }); err != nil {
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
	t := database.Tables{Place: d.place, Schema: d.schema, Marker: "ramet_schema", Beside: []string{"run_events"}, Steps: steps}
	return t.Migrate(ctx, d.db, func(tx *sql.Tx) error { return store.Ensure(ctx, tx, d, o.Cwd) })
}

package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
)

// suffix makes the name of our schema from that of the workspace, which must not hold
// the tables of others.
const suffix = "_telemetry"

// parseAddress reads the URL of a workspace.
func parseAddress(address string) (database.Postgres, error) {
	pg, err := database.ParsePostgres(address)
	if err != nil {
		return pg, err
	}
	pg.Schema += suffix
	if len(pg.Schema) > 63 {
		return pg, fault.New(fault.InvalidConfig, "the schema of telemetry would be called %s, which is too long a name", pg.Schema).
			WithHint("give another schema with ?schema=NAME, of at most %d bytes", 63-len(suffix))
	}
	pg.Place += suffix
	pg.Config.RuntimeParams["search_path"] = pgx.Identifier{pg.Schema}.Sanitize()
	return pg, nil
}

// OpenServer connects to the records in a PostgreSQL database, and makes their schema if
// there is none. The URL is that of the workspace; the records are in a schema of their
// own, named after the workspace's with "_telemetry" behind it.
func OpenServer(ctx context.Context, address string) (*Store, error) {
	pg, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	d := dialect{
		place:    pg.Place,
		takeTurn: `SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.telemetry_runs', 0))`,
		patience: 30 * time.Second, // of a server that does not answer
		fault: func(err error) error {
			return database.ServerFault(pg.Place, "send it again; what was kept already is found by its id", err)
		},
		// What was lost with the connection is found by its id when it is sent again.
		fatal: func(error) bool { return false },
	}
	writer, readers := pg.Open(1), pg.Open(4)
	tables := database.Tables{Place: pg.Place, Schema: pg.Schema, Marker: "telemetry_schema", Steps: serverSteps()}
	if err := database.Repeat(ctx, func() error { return tables.Migrate(ctx, writer, nil) }); err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return &Store{dialect: d, writer: writer, readers: readers, now: time.Now}, nil
}

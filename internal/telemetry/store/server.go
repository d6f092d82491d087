package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/database"
	"ramet/internal/fault"
)

// suffix makes the name of our schema from that of the workspace, which must not hold
// the tables of others.
const suffix = "_telemetry"

// Schema is the name of the schema in which OpenServer keeps the records of a URL.
func Schema(address string) (string, error) {
	pg, err := parse(address)
	return pg.Schema, err
}

// parse reads the URL of a workspace.
func parse(address string) (database.Postgres, error) {
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
	pg, err := parse(address)
	if err != nil {
		return nil, err
	}
	d := dialect{
		place:     pg.Place,
		forUpdate: ` FOR UPDATE`,
		patience:  30 * time.Second, // of a server that does not answer
		mark:      func(n int) string { return "$" + strconv.Itoa(n) },
		fault: func(err error) error {
			return database.ServerFault(pg.Place, "send it again; what was kept already is found by its id", err)
		},
		// What was lost with the connection is found by its id when it is sent again.
		fatal: func(error) bool { return false },
	}
	writer, readers := stdlib.OpenDB(*pg.Config), stdlib.OpenDB(*pg.Config)
	writer.SetMaxOpenConns(1)
	readers.SetMaxOpenConns(4)
	readers.SetMaxIdleConns(4)
	err = migrateServer(ctx, writer, pg)
	var s *Store
	if err == nil {
		s, err = newStore(ctx, d, writer, readers)
	}
	if err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return s, nil
}

// migrateServer makes the schema and the tables that are missing, in one transaction. It
// needs no right to make them where they exist.
func migrateServer(ctx context.Context, db *sql.DB, pg database.Postgres) error {
	if version, err := serverVersion(ctx, db, pg); err != nil || version == len(serverSteps) {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, database.SchemaLock); err != nil {
		return err
	}
	version, err := serverVersion(ctx, tx, pg) // another process may have been faster
	if err != nil {
		return err
	}
	var exists bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, pg.Schema).Scan(&exists); err != nil {
		return err
	}
	var texts []string
	if !exists {
		texts = append(texts, `CREATE SCHEMA `+pgx.Identifier{pg.Schema}.Sanitize())
	}
	if version == 0 {
		texts = append(texts, `CREATE TABLE telemetry_schema (version BIGINT NOT NULL)`, `INSERT INTO telemetry_schema VALUES (0)`)
	}
	texts = append(texts, serverSteps[version:]...)
	texts = append(texts, fmt.Sprintf(`UPDATE telemetry_schema SET version = %d`, len(serverSteps)))
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	return tx.Commit()
}

// serverVersion is that of our tables, 0 if there are none; a schema with somebody else's
// tables is refused.
func serverVersion(ctx context.Context, q queryRower, pg database.Postgres) (int, error) {
	var ours bool
	var tables, version int
	if err := q.QueryRowContext(ctx, `SELECT coalesce(bool_or(c.relname = 'telemetry_schema'), false), count(*)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
		pg.Schema).Scan(&ours, &tables); err != nil {
		return 0, err
	}
	if !ours && tables > 0 {
		return 0, fault.New(fault.StorageForeign, "%s holds tables of another program", pg.Place).
			WithHint("nothing was changed; give another schema with ?schema=NAME")
	}
	if !ours {
		return 0, nil
	}
	if err := q.QueryRowContext(ctx, `SELECT version FROM telemetry_schema`).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(pg.Place, version, len(serverSteps))
}

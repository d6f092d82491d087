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
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/fault"
	"ramet/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	defaultSchema = "ramet"
	connections   = 8
	lockKey       = 0x72616d74 // advisory lock under which schemas are made
	lockTimeout   = "5s"       // how long a verb waits for another process; ?lock_timeout= sets another
)

// Options of Open.
type Options struct {
	Cwd string // folder of agent 0, if it has to be made
	// Export writes a snapshot's rows into a new file, for backups.
	Export func(ctx context.Context, path string, from *sql.Tx) error
}

// IsURL says whether a --db names a PostgreSQL database.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// Open connects to a workspace, and makes its schema if there is none.
func Open(ctx context.Context, address string, o Options) (*store.Store, error) {
	config, schema, err := parse(address)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	d := &dialect{db: db, schema: schema, place: place(config, schema), export: o.Export}
	if err := d.migrate(ctx, o); err != nil {
		return nil, errors.Join(d.Fault(err), db.Close())
	}
	return store.New(db, db, d, db.Close), nil
}

// parse takes our parameter out of the URL. What it refuses, it does not
// repeat: the URL may hold a password.
func parse(address string) (*pgx.ConnConfig, string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", fault.New(fault.InvalidConfig, "the PostgreSQL URL is not readable").
			WithHint("write it as postgres://user@host:5432/database?schema=ramet")
	}
	q := u.Query()
	schema := q.Get("schema")
	if schema == "" {
		schema = defaultSchema
	}
	if len(schema) > 63 || strings.ContainsRune(schema, 0) || strings.HasPrefix(schema, "pg_") {
		return nil, "", fault.New(fault.InvalidConfig, "%.80q is not a name for a schema", schema).
			WithHint("use 1 to 63 bytes that do not begin with pg_")
	}
	q.Del("schema")
	u.RawQuery = q.Encode()
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, "", fault.New(fault.InvalidConfig, "the PostgreSQL URL is not understood: %s", reason(err)).
			WithHint("write it as postgres://user@host:5432/database?schema=ramet")
	}
	config.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()
	config.RuntimeParams["application_name"] = "ramet"
	if config.RuntimeParams["lock_timeout"] == "" {
		config.RuntimeParams["lock_timeout"] = lockTimeout
	}
	return config, schema, nil
}

// reason is the innermost cause, which names no connection string. Of several
// attempts, with and without TLS or to several addresses, the first speaks for
// all.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
			inner = many.Unwrap()[0]
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func place(c *pgx.ConnConfig, schema string) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") {
		host = fmt.Sprintf("%s:%d", c.Host, c.Port)
	}
	return fmt.Sprintf("PostgreSQL at %s, database %s, schema %s", host, c.Database, schema)
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
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey); err != nil {
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
// else's tables is refused.
func (d *dialect) version(ctx context.Context, q queryRower) (int, error) {
	var ours bool
	var tables int
	if err := q.QueryRowContext(ctx, `SELECT coalesce(bool_or(c.relname = 'ramet_schema'), false), count(*)
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

package post

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"ramet/internal/database"
	"ramet/internal/fault"
)

// format is the version of the tables.
const format = 1

// The tables, in a schema of their own beside the workspace's. Contents are not
// compressed: most are small, and the large ones are in the way of nobody for long.
const tables = `
CREATE TABLE format (version INTEGER NOT NULL);
INSERT INTO format VALUES (1);
CREATE TABLE requests (
	id       UUID PRIMARY KEY,
	run_id   TEXT NOT NULL,
	item_id  TEXT NOT NULL,
	verb     TEXT NOT NULL,
	body     BYTEA NOT NULL,
	asked_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX requests_of_run ON requests (run_id, asked_at);
CREATE TABLE answers (
	id          UUID PRIMARY KEY REFERENCES requests ON DELETE CASCADE,
	code        TEXT NOT NULL, -- of a fault; empty: done
	message     TEXT NOT NULL,
	hint        TEXT NOT NULL,
	body        BYTEA NOT NULL,
	answered_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE blobs (
	run_id TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	data   BYTEA NOT NULL,
	PRIMARY KEY (run_id, sha256)
);
ALTER TABLE blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE desks (
	run_id  TEXT PRIMARY KEY,
	epoch   BIGINT NOT NULL,
	owner   UUID NOT NULL,
	seen_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE hosts (
	host     TEXT PRIMARY KEY,
	seen_at  TIMESTAMPTZ NOT NULL,
	queues   TEXT[] NOT NULL,
	parallel INTEGER NOT NULL,
	version  TEXT NOT NULL
);`

// durably has a transaction wait for the disk.
const durably = `SET LOCAL synchronous_commit = on`

// besides names the schema that belongs to another: "ramet_runs" to "ramet".
func besides(schema string) string {
	if name := schema + "_runs"; len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%x_runs", sum[:16])
}

// migrate makes the schema if it is missing; it needs no right to make one where it
// exists.
func (c *Client) migrate(ctx context.Context) error {
	if version, err := c.version(ctx, c.pool); err != nil || version == format {
		return err
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, durably); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, database.SchemaLock); err != nil {
			return err
		}
		if version, err := c.version(ctx, tx); err != nil || version == format {
			return err // somebody else was faster
		}
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{c.schema}.Sanitize()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, tables)
		return err
	})
}

type rower interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// version is that of our tables, 0 if there are none; a stranger's are refused.
func (c *Client) version(ctx context.Context, q rower) (int, error) {
	var ours, others bool
	err := q.QueryRow(ctx, `SELECT coalesce(bool_or(c.relname = 'format'), false), count(*) > 0
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`, c.schema).Scan(&ours, &others)
	if err != nil || !others {
		return 0, err
	}
	version := 0
	if ours {
		err = q.QueryRow(ctx, `SELECT version FROM format`).Scan(&version)
	}
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return 0, err
	case version == 0:
		return 0, fault.New(fault.StorageForeign, "%s: schema %s holds tables of another program", c.place, c.schema).
			WithHint("nothing was changed; give another schema with ?schema=NAME")
	case version > format:
		return 0, fault.New(fault.StorageNewer, "%s: schema %s has version %d, this ramet knows %d", c.place, c.schema, version, format).
			WithHint("use a newer ramet")
	}
	return version, nil
}

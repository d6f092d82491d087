package mailbox

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"

	"ramet/internal/store/database"
)

// The tables, in a schema of their own next to the workspace's. Contents are not
// compressed: most are small, and the large ones are deleted soon.
const tables = waitForDisk + `;
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

// handoverTables hold the records and files that another host needs to take a run over.
const handoverTables = waitForDisk + `;
CREATE TABLE wills (
	run_id TEXT PRIMARY KEY,
	body   BYTEA NOT NULL
);
CREATE TABLE files (
	run_id TEXT NOT NULL,
	path   TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	data   BYTEA NOT NULL,
	PRIMARY KEY (run_id, path)
);
ALTER TABLE files ALTER COLUMN data SET STORAGE EXTERNAL;`

// waitForDisk has a transaction wait for the disk.
const waitForDisk = `SET LOCAL synchronous_commit = on`

// companionSchema names the schema that belongs to another: "ramet_runs" to "ramet".
func companionSchema(schema string) string {
	if name := schema + "_runs"; len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%x_runs", sum[:16])
}

// migrate makes the schema if it is missing.
func (c *Client) migrate(ctx context.Context) error {
	db := stdlib.OpenDBFromPool(c.pool)
	defer db.Close() // the pool stays
	t := database.Tables{Place: c.place + ": schema " + c.schema, Schema: c.schema, Marker: "format", Steps: []string{tables, handoverTables}}
	return t.Migrate(ctx, db, nil)
}

// Package store keeps telemetry runs in a database: an SQLite file, or a schema of a
// PostgreSQL server that several hosts share. It is written once over database/sql; what
// the engines do differently is a dialect.
//
// In addition to telemetry.Store it promises:
//
//   - What was acknowledged is on the disk (SQLite: WAL, synchronous FULL; PostgreSQL: as
//     the server is set up).
//   - Records are listed in the order of their arrival, newest first. A page continues after the last record of the
//     page before, so that records that arrive meanwhile move nothing.
//   - After a commit of SQLite that may or may not be on the disk nothing is written any
//     more; start again.
//
// A row holds the record as JSON, without the objects metrics_json and context_json, which have columns of their own
// in their RFC 8785 form; copies of the fields that queries use, times in microseconds; the trace_id of the context;
// and the hash of the body that created it. A new field needs no new column.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
)

// dialect holds the differences between the engines.
type dialect struct {
	place string // for people; never a password
	// takeTurn waits until no other transaction writes records; empty where the engine
	// has one writer at a time anyway.
	takeTurn string
	// patience limits the time of a transaction; 0 where nothing can keep it waiting.
	patience time.Duration
	// fault turns a driver's error into one of ours, or returns it as it is.
	fault func(error) error
	// fatal: it is not known what is on the disk.
	fatal func(error) bool
}

// Store implements telemetry.Store.
type Store struct {
	dialect
	writer, readers *sql.DB
	now             func() time.Time
	unusable        atomic.Pointer[fault.Error] // why nothing is written any more
}

var _ telemetry.Store = (*Store)(nil)

// Place returns the place of the records, for people.
func (s *Store) Place() string { return s.place }

// Close waits for what is being written and gives back the database.
func (s *Store) Close() (err error) {
	s.unusable.Store(fault.New(fault.Conflict, "write to %s: it is closed", s.place))
	return errors.Join(s.writer.Close(), s.readers.Close())
}

// fail gives an error its fault.
func (s *Store) fail(verb string, err error) error {
	if _, ours := fault.Of(err); ours || err == nil {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Interrupted, "%s: %w", verb, err)
	}
	if err = s.dialect.fault(err); fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fmt.Errorf("%s: %s: %w", s.place, verb, err)
}

// applicationID marks our files in SQLite's header: "rtel".
const applicationID = 0x7274656c

// OpenFile opens the records in an SQLite file, and makes it, readable to its owner
// alone, if there is none. Several processes may have it open.
func OpenFile(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	d := dialect{
		place: path,
		fault: func(err error) error { return database.SQLiteFault(path, err) },
		fatal: func(err error) bool {
			// What could not be written was rolled back; after a failed sync SQLite may
			// not know itself.
			code := fault.CodeOf(err)
			return code == fault.StorageIO || code == fault.StorageCorrupt
		},
	}
	f := database.File{Path: path, ID: applicationID, What: "a database of telemetry", Steps: fileSteps}
	if _, err := f.Peek(ctx); err != nil {
		return nil, err
	}
	writer := database.OpenSQLite(path, "_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)", 1)
	readers := database.OpenSQLite(path, "_pragma=query_only(1)", 4)
	if err := f.Migrate(ctx, writer, nil); err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return &Store{dialect: d, writer: writer, readers: readers, now: time.Now}, nil
}

func prepareFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fault.New(fault.StorageForeign, "%s is not a file", path).WithHint("nothing was changed; give another path")
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return durable.Failure("open", path, err)
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Made here, so that its name is durable and other users cannot read it.
	if err := durable.CreateFile(path, nil, 0o600); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return nil
}

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
	tables := database.Tables{Place: pg.Place, Schema: pg.Schema, Marker: "telemetry_schema", Steps: serverSteps}
	if err := database.Repeat(ctx, func() error { return tables.Migrate(ctx, writer, nil) }); err != nil {
		return nil, errors.Join(d.fault(err), writer.Close(), readers.Close())
	}
	return &Store{dialect: d, writer: writer, readers: readers, now: time.Now}, nil
}

// The statements that make the tables, oldest first. A step that was released is never changed; the number of steps is
// the version.
var (
	fileSteps   = []string{tableText("INTEGER PRIMARY KEY", "BLOB", "INTEGER") + " STRICT" + indexes}
	serverSteps = []string{tableText("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA", "BIGINT") + indexes}
)

// tableText returns the statement that makes the table. It is written once for both engines, which call the same
// types by other names.
func tableText(seq, bytes, integer string) string {
	return strings.NewReplacer("SEQ", seq, "BYTES", bytes, "INT", integer).Replace(`CREATE TABLE telemetry_runs (
	seq           SEQ,
	event_id      TEXT  NOT NULL UNIQUE,
	run_id        TEXT  NOT NULL UNIQUE,
	parent_run_id TEXT,
	agent_name    TEXT  NOT NULL,
	job_type      TEXT  NOT NULL,
	status        TEXT  NOT NULL,
	start_time    INT   NOT NULL, -- microseconds since 1970
	created_at    INT   NOT NULL,
	trace_id      TEXT,           -- of the context
	body_hash     TEXT  NOT NULL, -- of what created it
	record        BYTES NOT NULL, -- JSON, but for these two objects
	metrics_json  BYTES,
	context_json  BYTES
)`)
}

// indexes serve one filter each, and give its records in the order of a list. That of
// parents has all that is needed to walk a tree.
const indexes = `;
CREATE INDEX telemetry_parent  ON telemetry_runs (parent_run_id, seq, run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX telemetry_trace   ON telemetry_runs (trace_id, seq) WHERE trace_id IS NOT NULL;
CREATE INDEX telemetry_agent   ON telemetry_runs (agent_name, seq);
CREATE INDEX telemetry_job     ON telemetry_runs (job_type, seq);
CREATE INDEX telemetry_status  ON telemetry_runs (status, seq);
CREATE INDEX telemetry_created ON telemetry_runs (created_at);
CREATE INDEX telemetry_start   ON telemetry_runs (start_time)`

package database

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
)

// Rower asks for one row: a database, or a transaction.
type Rower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// File is an SQLite file of a kind that has versions. The file says in its header whose it
// is (application_id) and which version (user_version).
type File struct {
	Path  string
	ID    int      // of the application
	What  string   // it is, for a caller that gave another: "a ramet database"
	Hint  string   // for that one; empty: to give another path
	Steps []string // from each version to the next
}

// Version returns the version of our tables, 0 for an empty file. A stranger's file is refused, and one
// of a newer ramet.
func (f File) Version(ctx context.Context, q Rower) (int, error) {
	var app, version, objects int
	// Another process may be making it: one moment counts.
	if err := q.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&app, &version, &objects); err != nil {
		return 0, err
	}
	if app != f.ID && (app != 0 || objects > 0) {
		return 0, f.Foreign()
	}
	return version, checkVersion(f.Path, version, len(f.Steps))
}

// Foreign returns the error for a file of another program.
func (f File) Foreign() error {
	hint := "nothing was changed; give another path"
	if f.Hint != "" {
		hint = f.Hint
	}
	return fault.New(fault.StorageForeign, "%s is not %s", f.Path, f.What).WithHint("%s", hint)
}

// Peek does what Version does without changing the file: opening one for writing switches it to WAL. What
// a writer left half done when the power failed must be rolled back before it can be read.
func (f File) Peek(ctx context.Context) (int, error) {
	version, err := f.peek(ctx, "mode=ro")
	if halfDone(err) {
		version, err = f.peek(ctx, "mode=rw")
	}
	return version, SQLiteFault(f.Path, err)
}

func (f File) peek(ctx context.Context, mode string) (int, error) {
	db := OpenSQLite(f.Path, mode, 1)
	version, err := f.Version(ctx, db)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	return version, err
}

// Migrate makes the tables that are missing, and what belongs to them (also; nil: nothing),
// in one transaction. db begins transactions that write (_txlock=immediate).
func (f File) Migrate(ctx context.Context, db *sql.DB, also func(*sql.Tx) error) error {
	version, err := f.Version(ctx, db)
	if err != nil || version == len(f.Steps) {
		return err
	}
	if err := mayUpgrade(ctx, version); err != nil {
		return err
	}
	return inTx(ctx, db, func(tx *sql.Tx) error {
		if err := f.Build(ctx, tx); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
}

type upgrading struct{}

// CheckUpgrades lets check refuse to change tables that an older program made, with this context.
func CheckUpgrades(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, upgrading{}, check)
}

func mayUpgrade(ctx context.Context, version int) error {
	check, _ := ctx.Value(upgrading{}).(func(context.Context) error)
	if version == 0 || check == nil {
		return nil
	}
	return check(ctx)
}

// Build makes the tables that are missing and marks the file as ours. It looks at the
// version again: another process may have been faster.
func (f File) Build(ctx context.Context, tx *sql.Tx) error {
	version, err := f.Version(ctx, tx)
	if err != nil {
		return err
	}
	return runTexts(ctx, tx, append(f.Steps[version:len(f.Steps):len(f.Steps)], fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, f.ID, len(f.Steps))))
}

// Tables are those of ours in a schema of PostgreSQL. A table of one row holds their
// version.
type Tables struct {
	Place, Schema string
	Marker        string   // the table with the version
	Beside        []string // tables of ours that may are in the same schema, and are not meant
	Steps         []string // from each version to the next
}

// Version returns the version of our tables, 0 if there are none. A schema with another program's tables
// is refused, and one of a newer ramet.
func (t Tables) Version(ctx context.Context, q Rower) (int, error) {
	var ours bool
	var others, version int
	if err := q.QueryRowContext(ctx, `SELECT coalesce(bool_or(c.relname = $2), false), count(*) FILTER (WHERE c.relname <> ALL ($3::text[]))
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')`,
		t.Schema, t.Marker, "{"+strings.Join(t.Beside, ",")+"}").Scan(&ours, &others); err != nil {
		return 0, err
	}
	switch {
	case !ours && others > 0:
		return 0, fault.New(fault.StorageForeign, "%s contains tables of another program", t.Place).
			WithHint("nothing was changed; give another schema with ?schema=NAME")
	case !ours:
		return 0, nil
	}
	if err := q.QueryRowContext(ctx, `SELECT version FROM `+t.marker()).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(t.Place, version, len(t.Steps))
}

func (t Tables) marker() string { return pgx.Identifier{t.Schema, t.Marker}.Sanitize() }

// Migrate makes the schema and the tables that are missing, and what belongs to them (also;
// nil: nothing), in one transaction. It needs no right to make them where they exist. The
// connections of db look into the schema first (search_path).
func (t Tables) Migrate(ctx context.Context, db *sql.DB, also func(*sql.Tx) error) error {
	version, err := t.Version(ctx, db)
	if err != nil || version == len(t.Steps) {
		return err
	}
	if err := mayUpgrade(ctx, version); err != nil {
		return err
	}
	ctx = Unhurried(ctx) // a step may rewrite all there is
	return inTx(ctx, db, func(tx *sql.Tx) error {
		if err := LockSchema(ctx, tx, t.Schema); err != nil {
			return err
		}
		version, err := t.Version(ctx, tx) // another process may have been faster
		if err != nil || version == len(t.Steps) {
			return err
		}
		var texts []string
		if version == 0 {
			texts = append(texts, `CREATE TABLE `+t.marker()+` (version BIGINT NOT NULL)`, `INSERT INTO `+t.marker()+` VALUES (0)`)
		}
		texts = append(texts, t.Steps[version:]...)
		texts = append(texts, fmt.Sprintf(`UPDATE %s SET version = %d`, t.marker(), len(t.Steps)))
		if err := runTexts(ctx, tx, texts); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
}

// LockSchema makes a schema that is missing, and keeps others from making tables until the
// transaction ends.
func LockSchema(ctx context.Context, tx *sql.Tx, schema string) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, SchemaLock); err != nil {
		return err
	}
	var exists bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&exists); err != nil || exists {
		return err
	}
	_, err := tx.ExecContext(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize())
	return err
}

func checkVersion(place string, have, known int) error {
	if have > known {
		return fault.New(fault.StorageNewer, "%s has schema version %d, this ramet knows %d", place, have, known).WithHint("use a newer ramet")
	}
	return nil
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func runTexts(ctx context.Context, tx *sql.Tx, texts []string) error {
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	return nil
}

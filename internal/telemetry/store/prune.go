package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ramet/internal/store/database"
)

// pruneAtOnce limits the records that one transaction of Prune removes, so that others can write meanwhile.
const pruneAtOnce = 1000

// Prune removes the records that were created before a moment and have ended, except those above a record that
// stays, and returns how many. New records use the space again.
func (s *Store) Prune(ctx context.Context, before time.Time) (int64, error) {
	var all int64
	for {
		n, err := s.pruneSome(ctx, before.UnixMicro())
		all += n
		if err != nil || n < pruneAtOnce {
			return all, err
		}
	}
}

func (s *Store) pruneSome(ctx context.Context, before int64) (n int64, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx, _ time.Time) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM telemetry_runs WHERE seq IN (SELECT seq FROM telemetry_runs r
			WHERE created_at < $1 AND status <> 'running'
			AND NOT EXISTS (SELECT 1 FROM telemetry_runs c WHERE c.parent_run_id = r.run_id AND (c.created_at >= $1 OR c.status = 'running'))
			ORDER BY created_at LIMIT $2)`, before, pruneAtOnce)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	return n, err
}

// Size is the size of the records.
type Size struct {
	Records int64
	Bytes   int64 // with indexes; of a file, all of it
	Oldest  time.Time
}

// MeasureFile returns the size of the records in an SQLite file, and false if there is none. It changes nothing.
func MeasureFile(ctx context.Context, path string) (Size, bool, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Size{}, false, err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return Size{}, false, nil
	}
	db := database.OpenSQLite(path, "mode=ro", 1)
	out := Size{}
	err = measure(ctx, db, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`, &out)
	return out, err == nil, database.SQLiteFault(path, errors.Join(err, db.Close()))
}

// MeasureServer returns the size of the records beside a workspace in a PostgreSQL database.
func MeasureServer(ctx context.Context, address string) (Size, bool, error) {
	pg, err := parseAddress(address)
	if err != nil {
		return Size{}, false, err
	}
	db := pg.Open(1)
	defer db.Close()
	var there bool
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'telemetry_runs')`, pg.Schema).Scan(&there)
	if err != nil || !there {
		return Size{}, false, database.PostgresFault(pg.Place, err)
	}
	out := Size{}
	err = measure(ctx, db, `SELECT pg_total_relation_size('telemetry_runs')`, &out)
	return out, err == nil, database.PostgresFault(pg.Place, err)
}

func measure(ctx context.Context, db *sql.DB, bytes string, out *Size) error {
	var oldest int64
	if err := db.QueryRowContext(ctx, `SELECT count(*), coalesce(min(created_at), 0) FROM telemetry_runs`).Scan(&out.Records, &oldest); err != nil {
		return err
	}
	if oldest > 0 {
		out.Oldest = time.UnixMicro(oldest).UTC()
	}
	return db.QueryRowContext(ctx, bytes).Scan(&out.Bytes)
}

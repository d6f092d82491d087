package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
)

// Get implements telemetry.Store.
func (s *Store) Get(ctx context.Context, eventID string) (telemetry.Record, error) {
	eventID, err := telemetry.ParseEventID(eventID)
	if err != nil {
		return telemetry.Record{}, err
	}
	records, _, err := s.read(ctx, selectRecord+` WHERE event_id = $1`, eventID)
	if err != nil {
		return telemetry.Record{}, s.fail("get a record", err)
	}
	if len(records) == 0 {
		return telemetry.Record{}, notFound(eventID)
	}
	return records[0], nil
}

// read gives the records of a query, and the place of each.
func (s *Store) read(ctx context.Context, text string, args ...any) (records []telemetry.Record, places []int64, err error) {
	rows, err := s.readers.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	err = eachRow(rows, func(w *row) {
		if len(records) == cap(records) {
			// Doubled, because records are large to move.
			records = slices.Grow(records, max(16, len(records)))
		}
		records, places = append(records, w.record), append(places, w.seq)
	})
	return records, places, err
}

// List implements telemetry.Store.
func (s *Store) List(ctx context.Context, f telemetry.Filter) ([]telemetry.Record, string, error) {
	where, args := []string{"true"}, []any{}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf("%s $%d", condition, len(args)))
	}
	for _, one := range []struct{ column, value string }{
		{"agent_name", f.AgentName}, {"run_id", f.RunID}, {"parent_run_id", f.ParentRunID},
		{"trace_id", f.TraceID}, {"status", string(f.Status)}, {"job_type", string(f.JobType)},
	} {
		if one.value != "" {
			add(one.column+" =", one.value)
		}
	}
	if !f.CreatedBefore.IsZero() {
		add("created_at <", f.CreatedBefore.UnixMicro())
	}
	if !f.CreatedAfter.IsZero() {
		add("created_at >", f.CreatedAfter.UnixMicro())
	}
	if !f.StartFrom.IsZero() {
		add("start_time >=", f.StartFrom.UnixMicro())
	}
	if !f.StartTo.IsZero() {
		add("start_time <=", f.StartTo.UnixMicro())
	}
	if f.Cursor != "" {
		place, err := telemetry.ParseCursor(f.Cursor)
		if err != nil {
			return nil, "", err
		}
		add("seq <", place)
	}
	limit := f.Limit
	if limit == 0 {
		limit = telemetry.DefaultLimit
	}
	// One more, to know whether there is a next page.
	text := fmt.Sprintf(`%s WHERE %s ORDER BY seq DESC LIMIT %d`, selectRecord, strings.Join(where, " AND "), limit+1)
	records, places, err := s.read(ctx, text, args...)
	if err != nil {
		return nil, "", s.fail("list records", err)
	}
	if len(records) <= limit {
		return records, "", nil
	}
	return records[:limit], telemetry.FormatCursor(places[limit-1]), nil
}

// Tree implements telemetry.Store. UNION, not UNION ALL: a circle of parents ends where it
// comes back.
func (s *Store) Tree(ctx context.Context, eventID string) (telemetry.Branch, error) {
	root, err := s.Get(ctx, eventID)
	if err != nil {
		return telemetry.Branch{}, err
	}
	text := fmt.Sprintf(`WITH RECURSIVE below (seq, run_id) AS (
		SELECT seq, run_id FROM telemetry_runs WHERE event_id = $1
		UNION SELECT c.seq, c.run_id FROM below JOIN telemetry_runs c ON c.parent_run_id = below.run_id
	) %s WHERE seq IN (SELECT seq FROM below LIMIT %d)`, selectRecord, telemetry.MaxTree+1)
	records, _, err := s.read(ctx, text, root.EventID)
	if err != nil {
		return telemetry.Branch{}, s.fail("read a tree", err)
	}
	if len(records) > telemetry.MaxTree {
		return telemetry.Branch{}, fault.New(fault.Conflict, "the tree of telemetry run %s has more than %d records", root.EventID, telemetry.MaxTree).
			WithHint("list it in parts with parent_run_id")
	}
	// The root as it was at the same moment as the rest.
	if i := slices.IndexFunc(records, func(r telemetry.Record) bool { return r.EventID == root.EventID }); i >= 0 {
		root = records[i]
	}
	return telemetry.BuildTree(root, records), nil
}

// maxNames bounds the names that Metadata gives.
const maxNames = 1000

// Metadata implements telemetry.Store. It gives the first thousand names of agents.
func (s *Store) Metadata(ctx context.Context) (telemetry.Metadata, error) {
	m := telemetry.Metadata{AgentNames: []string{}, JobTypes: []telemetry.JobType{}, Statuses: []telemetry.Status{}}
	err := errors.Join(distinct(ctx, s.readers, "agent_name", &m.AgentNames), distinct(ctx, s.readers, "job_type", &m.JobTypes),
		distinct(ctx, s.readers, "status", &m.Statuses), s.readers.QueryRowContext(ctx, `SELECT count(*) FROM telemetry_runs`).Scan(&m.Records))
	slices.Sort(m.AgentNames)
	return m, s.fail("read metadata", err)
}

// distinct appends the values of a column, at most maxNames.
func distinct[T ~string](ctx context.Context, db *sql.DB, column string, out *[]T) error {
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`SELECT DISTINCT %[1]s FROM telemetry_runs ORDER BY %[1]s LIMIT %[2]d`, column, maxNames))
	if err != nil {
		return err
	}
	return scanRows(rows, func() error {
		var v T
		err := rows.Scan(&v)
		*out = append(*out, v)
		return err
	})
}

// Totals adds up all records by job type and status, for /metrics. It reads the metrics
// of every call of a model.
func (s *Store) Totals(ctx context.Context) ([]telemetry.Total, error) {
	out, err := s.totals(ctx)
	return out, s.fail("add up the records", err)
}

func (s *Store) totals(ctx context.Context) (out []telemetry.Total, err error) {
	rows, err := s.readers.QueryContext(ctx, `SELECT job_type, status, count(*) FROM telemetry_runs
		WHERE job_type <> 'llm_call' GROUP BY job_type, status ORDER BY job_type, status`)
	if err != nil {
		return nil, err
	}
	err = scanRows(rows, func() error {
		var t telemetry.Total
		if err := rows.Scan(&t.JobType, &t.Status, &t.Records); err != nil {
			return err
		}
		out = append(out, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = s.readers.QueryContext(ctx, `SELECT status, metrics_json FROM telemetry_runs WHERE job_type = 'llm_call' ORDER BY status`)
	if err != nil {
		return nil, err
	}
	var raw sql.RawBytes
	err = scanRows(rows, func() error {
		r := telemetry.Record{JobType: telemetry.LLMCall}
		if err := rows.Scan(&r.Status, &raw); err != nil {
			return err
		}
		r.Metrics = []byte(raw)
		if last := len(out) - 1; last < 0 || out[last].JobType != telemetry.LLMCall || out[last].Status != r.Status {
			out = append(out, telemetry.Total{JobType: telemetry.LLMCall, Status: r.Status})
		}
		one, sum := telemetry.SumsOf(r), &out[len(out)-1].Sums
		sum.Records++
		sum.Calls++
		sum.InputTokens += one.InputTokens
		sum.OutputTokens += one.OutputTokens
		sum.TotalTokens += one.TotalTokens
		sum.CostUSD += one.CostUSD
		return nil
	})
	return out, err
}

func scanRows(rows *sql.Rows, each func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(); err != nil {
			return err
		}
	}
	return rows.Err()
}

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

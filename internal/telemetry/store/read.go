package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
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

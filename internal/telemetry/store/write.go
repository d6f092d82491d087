package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
)

// Create implements telemetry.Store.
func (s *Store) Create(ctx context.Context, news []telemetry.New) (results []telemetry.Result, err error) {
	for i := range news {
		if err := checkWhole(&news[i]); err != nil {
			return nil, err
		}
	}
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx, now time.Time) error {
		results = make([]telemetry.Result, len(news))
		for i := range news {
			var err error
			if results[i], err = s.createOne(ctx, tx, &news[i], now); err != nil {
				return err
			}
		}
		return nil
	})
	return results, err
}

// checkWhole refuses a record that ParseNew cannot have made.
func checkWhole(n *telemetry.New) error {
	id, err := telemetry.ParseEventID(n.EventID)
	if err == nil && (id != n.EventID || n.RunID == "" || len(n.BodyHash) != 64) {
		err = fault.New(fault.InvalidField, "telemetry run %s lacks its run_id or the hash of its body", n.EventID)
	}
	return err
}

// Patch implements telemetry.Store.
func (s *Store) Patch(ctx context.Context, eventID string, p telemetry.Patch) (telemetry.Record, error) {
	eventID, err := telemetry.ParseEventID(eventID)
	if err != nil {
		return telemetry.Record{}, err
	}
	results, err := s.PatchAll(ctx, []telemetry.Change{{EventID: eventID, Patch: p}})
	if err != nil {
		return telemetry.Record{}, err
	}
	return results[0].Record, results[0].Err
}

// PatchAll implements telemetry.Store.
func (s *Store) PatchAll(ctx context.Context, changes []telemetry.Change) (results []telemetry.Result, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx, now time.Time) error {
		results = make([]telemetry.Result, len(changes))
		for i, c := range changes {
			if err := s.patchOne(ctx, tx, c, now, &results[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return results, err
}

// write makes changes in one transaction. It is finished even when ctx ends. Two writers with the same ids in different
// orders would block each other, and a record with a lower number could appear after a reader has passed its place in
// a list: so there is one writer at a time.
func (s *Store) write(ctx context.Context, do func(ctx context.Context, tx *sql.Tx, now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return s.fail("write", err)
	}
	if failed := s.unusable.Load(); failed != nil {
		return failed
	}
	err := s.fail("write", database.Repeat(context.WithoutCancel(ctx), func() error {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		if s.patience > 0 {
			ctx, cancel = context.WithTimeout(ctx, s.patience)
		}
		defer cancel()
		tx, err := s.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // after a commit this does nothing
		if s.takeTurn != "" {
			if _, err := tx.ExecContext(ctx, s.takeTurn); err != nil {
				return err
			}
		}
		if err := do(ctx, tx, s.now().UTC().Truncate(time.Microsecond)); err != nil {
			return err
		}
		return tx.Commit()
	}))
	if err != nil && s.fatal(err) {
		s.unusable.CompareAndSwap(nil, fault.New(fault.CodeOf(err), "%s: an earlier write failed, so nothing more is written: %w", s.place, err).
			WithHint("start again; what was acknowledged is on disk"))
	}
	return err
}

// createOne inserts a record, unless its event_id or run_id is taken.
func (s *Store) createOne(ctx context.Context, tx *sql.Tx, n *telemetry.New, now time.Time) (telemetry.Result, error) {
	record := n.Record
	record.CreatedAt, record.UpdatedAt = now, now
	values, err := columnValues(&record)
	if err != nil {
		return telemetry.Result{}, err
	}
	done, err := tx.ExecContext(ctx, insertRecord(), append([]any{n.BodyHash}, values...)...)
	if err != nil {
		return telemetry.Result{}, err
	}
	if inserted, err := done.RowsAffected(); err != nil || inserted == 1 {
		return telemetry.Result{Outcome: telemetry.Created, Record: record}, err
	}
	known, err := findRow(ctx, tx, "event_id", n.EventID)
	if err != nil {
		return telemetry.Result{}, err
	}
	if known == nil {
		return s.refuseRunID(ctx, tx, n)
	}
	if known.hash == n.BodyHash {
		return telemetry.Result{Outcome: telemetry.Duplicate, Record: known.record}, nil
	}
	return telemetry.Result{Err: fault.New(fault.IDReused, "event_id %s was created with another body", n.EventID).
		WithHint("change a record with PATCH, or give another one another event_id")}, nil
}

// refuseRunID returns the result for a record whose run_id belongs to another one.
func (s *Store) refuseRunID(ctx context.Context, tx *sql.Tx, n *telemetry.New) (telemetry.Result, error) {
	owner, err := findRow(ctx, tx, "run_id", n.RunID)
	if err == nil && owner == nil {
		err = errors.New("a record was not inserted, and no other has its ids")
	}
	if err != nil {
		return telemetry.Result{}, err
	}
	return telemetry.Result{Err: fault.New(fault.IDReused, "run_id %s belongs to event_id %s", n.RunID, owner.record.EventID).
		WithHint("give every record a run_id of its own")}, nil
}

// findRow returns the row with a value in a unique column, or nil.
func findRow(ctx context.Context, tx *sql.Tx, column, value string) (found *row, err error) {
	rows, err := tx.QueryContext(ctx, selectRecord+` WHERE `+column+` = $1`, value)
	if err != nil {
		return nil, err
	}
	err = eachRow(rows, func(w *row) { found = w })
	return found, err
}

func (s *Store) patchOne(ctx context.Context, tx *sql.Tx, c telemetry.Change, now time.Time, out *telemetry.Result) error {
	found, err := findRow(ctx, tx, "event_id", c.EventID)
	if err != nil {
		return err
	}
	if found == nil {
		out.Err = notFound(c.EventID)
		return nil
	}
	changed, err := telemetry.Apply(found.record, c.Patch, now)
	if err != nil {
		out.Err = err
		return nil
	}
	out.Record = changed
	values, err := columnValues(&changed)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, updateRecord(), append(values, c.EventID)...)
	return err
}

func notFound(eventID string) error {
	return fault.New(fault.NotFound, "no telemetry run %s", eventID).WithHint("GET /api/v1/runs lists them")
}

// columns of a row, but for seq and body_hash: first what is looked for, then the record.
// Their order is that of values.
var columns = []string{
	"event_id", "run_id", "parent_run_id", "agent_name", "job_type", "status", "start_time", "created_at", "trace_id",
	"record", "metrics_json", "context_json",
}

// selectRecord reads rows for each.
const selectRecord = `SELECT seq, body_hash, record, metrics_json, context_json FROM telemetry_runs`

// columnValues returns the values of the columns. An empty text is NULL.
func columnValues(r *telemetry.Record) ([]any, error) {
	rest := *r
	rest.Metrics, rest.Context = nil, nil // have columns of their own
	text, err := json.Marshal(&rest)
	if err != nil {
		return nil, fmt.Errorf("format record %s: %w", r.EventID, err)
	}
	return []any{
		r.EventID, r.RunID, orNull(r.ParentRunID), r.AgentName, string(r.JobType), string(r.Status),
		r.StartTime.UnixMicro(), r.CreatedAt.UnixMicro(), orNull(r.TraceID()),
		text, orNull(r.Metrics), orNull(r.Context),
	}, nil
}

// orNull returns a value of a column; of an empty one, NULL.
func orNull[T ~string | ~[]byte](v T) any {
	if len(v) == 0 {
		return nil
	}
	return v
}

// insertRecord creates a record, unless its event_id or run_id is taken.
func insertRecord() string {
	marks := make([]string, len(columns)+1)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf(`INSERT INTO telemetry_runs (body_hash, %s) VALUES (%s) ON CONFLICT DO NOTHING`, strings.Join(columns, ", "), strings.Join(marks, ", "))
}

// updateRecord changes a record. Its last value is the event_id.
func updateRecord() string {
	set := make([]string, len(columns))
	for i, column := range columns {
		set[i] = fmt.Sprintf("%s = $%d", column, i+1)
	}
	return fmt.Sprintf(`UPDATE telemetry_runs SET %s WHERE event_id = $%d`, strings.Join(set, ", "), len(columns)+1)
}

type row struct {
	seq    int64
	hash   string
	record telemetry.Record
}

// eachRow calls f for every row, and closes them. f may keep what it gets.
func eachRow(rows *sql.Rows, f func(w *row)) error {
	defer rows.Close()
	var record, metrics, context sql.RawBytes
	for rows.Next() {
		var w row
		if err := rows.Scan(&w.seq, &w.hash, &record, &metrics, &context); err != nil {
			return err
		}
		if err := json.Unmarshal(record, &w.record); err != nil {
			return fmt.Errorf("record number %d: %w", w.seq, err)
		}
		// An empty column is nil, and stays so; an object is at least its brackets.
		w.record.Metrics, w.record.Context = bytes.Clone(metrics), bytes.Clone(context)
		f(&w)
	}
	return rows.Err()
}

package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"ramet/internal/telemetry"
)

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
		r.EventID, r.RunID, nullText(r.ParentRunID), r.AgentName, string(r.JobType), string(r.Status),
		r.StartTime.UnixMicro(), r.CreatedAt.UnixMicro(), nullText(r.TraceID()),
		text, nullBytes(r.Metrics), nullBytes(r.Context),
	}, nil
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullBytes(b []byte) any {
	if b == nil {
		return nil
	}
	return b
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

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

// columnValues of the columns. Empty is NULL.
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

// insertText is the statement that creates so many records and names those that it
// created: one whose event_id or run_id is taken is passed over. mark stands for the n-th
// value.
func insertText(rows int, mark func(n int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `INSERT INTO telemetry_runs (body_hash, %s) VALUES `, strings.Join(columns, ", "))
	n := 0
	for i := range rows {
		for j := range len(columns) + 1 {
			n++
			switch {
			case j > 0:
				b.WriteByte(',')
			case i > 0:
				b.WriteString(",(")
			default:
				b.WriteByte('(')
			}
			b.WriteString(mark(n))
		}
		b.WriteByte(')')
	}
	b.WriteString(` ON CONFLICT DO NOTHING RETURNING event_id, run_id`)
	return b.String()
}

// row is one that was read.
type row struct {
	seq    int64
	hash   string
	record telemetry.Record
}

// eachRow reads all rows and closes them. What it hands out is the caller's to keep.
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

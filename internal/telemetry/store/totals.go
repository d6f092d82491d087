package store

import (
	"context"
	"database/sql"

	"ramet/internal/telemetry"
)

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

package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// createAll inserts the records of all calls.
func (s *Store) createAll(ctx context.Context, tx *sql.Tx, batch []*call, now time.Time) error {
	for _, c := range batch {
		if c.isPatch() {
			continue
		}
		c.results = make([]telemetry.Result, len(c.news))
		for i := range c.news {
			var err error
			if c.results[i], err = s.createOne(ctx, tx, &c.news[i], now); err != nil {
				return err
			}
		}
	}
	return nil
}

// createOne inserts a record, unless its event_id or run_id is taken.
func (s *Store) createOne(ctx context.Context, tx *sql.Tx, n *telemetry.New, now time.Time) (telemetry.Result, error) {
	record := n.Record
	record.CreatedAt, record.UpdatedAt = now, now
	values, err := columnValues(&record)
	if err != nil {
		return telemetry.Result{}, err
	}
	done, err := tx.StmtContext(ctx, s.insert).ExecContext(ctx, append([]any{n.BodyHash}, values...)...)
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

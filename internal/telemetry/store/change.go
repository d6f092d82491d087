package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// change carries out one patch.
func (s *Store) change(ctx context.Context, tx *sql.Tx, c *call, now time.Time) error {
	c.refused = nil
	rows, err := tx.StmtContext(ctx, s.find).QueryContext(ctx, c.eventID)
	if err != nil {
		return err
	}
	found := false
	if err := eachRow(rows, func(w *row) { c.record, found = w.record, true }); err != nil {
		return err
	}
	if !found {
		c.refused = notFound(c.eventID)
		return nil
	}
	before, err := columnValues(&c.record)
	if err != nil {
		return err
	}
	if c.record, c.refused = telemetry.Apply(c.record, c.patch, now); c.refused != nil {
		return nil
	}
	after, err := columnValues(&c.record)
	if err != nil {
		return err
	}
	// Only what is another: an index whose column is written is written too.
	var set []string
	args := []any{c.eventID}
	for i, value := range after {
		if !sameValue(before[i], value) {
			args = append(args, value)
			set = append(set, fmt.Sprintf("%s = $%d", columns[i], len(args)))
		}
	}
	if len(set) == 0 {
		return nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE telemetry_runs SET `+strings.Join(set, ", ")+` WHERE event_id = $1`, args...)
	return err
}

func sameValue(a, b any) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes && areBytes {
		return bytes.Equal(x, y)
	}
	return isBytes == areBytes && a == b
}

func notFound(eventID string) error {
	return fault.New(fault.NotFound, "no telemetry run %s", eventID).WithHint("GET /api/v1/runs lists them")
}

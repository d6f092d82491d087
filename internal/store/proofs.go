package store

import (
	"context"
	"database/sql"
	"iter"

	"ramet/internal/core/history"
)

// Proofs does what View does for those who show entries with what proves them.
func (s *Store) Proofs(ctx context.Context, look func(history.Proofs) error) error {
	return s.View(ctx, func(log history.Log) error { return look(log.(reader)) })
}

// Records implements history.Proofs.
func (r reader) Records(ctx context.Context, rg history.Range) iter.Seq2[history.Record, error] {
	return func(yield func(history.Record, error) bool) {
		var s recordScan
		stream(ctx, r, "read records", func(rows *sql.Rows) (history.Record, bool, error) {
			e, err := s.scan(rows)
			return e, true, err
		}, `SELECT `+recordColumns+` FROM messages
			WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(rg.Agent), int64(rg.Start), limitOf(rg.End))(yield)
	}
}

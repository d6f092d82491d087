package store

import (
	"context"
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
		rows, err := r.q.QueryContext(ctx, `SELECT `+entryColumns+`, salt, commitment, seq, content IS NOT NULL FROM messages
			WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(rg.Agent), int64(rg.Start), limitOf(rg.End))
		if err != nil {
			yield(history.Record{}, r.fail("read records", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var e history.Record
			var created int64
			var hash, commitment []byte
			var kept bool
			if err := rows.Scan(&e.ID, &e.Agent, &e.Kind, &e.Content, &e.Meta, &created, &hash, &e.Salt, &commitment, &e.Seq, &kept); err != nil {
				yield(e, r.fail("read records", err))
				return
			}
			if kept && e.Content == nil {
				e.Content = []byte{} // empty, not redacted: a driver may give no bytes for both
			}
			e.CreatedAt, e.Hash, e.Commitment = fromMicros(created), toHash(hash), toHash(commitment)
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(history.Record{}, r.fail("read records", err))
		}
	}
}

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
	return stream(ctx, r, "read records", func(rows *sql.Rows) (e history.Record, _ bool, err error) {
		var created int64
		var hash, commitment []byte
		var kept bool
		err = rows.Scan(&e.ID, &e.Agent, &e.Kind, &e.Content, &e.Meta, &created, &hash, &e.Salt, &commitment, &e.Seq, &kept)
		if kept && e.Content == nil {
			e.Content = []byte{} // empty, not redacted: a driver may give no bytes for both
		}
		e.CreatedAt, e.Hash, e.Commitment = fromMicros(created), toHash(hash), toHash(commitment)
		return e, true, err
	}, `SELECT `+entryColumns+`, salt, commitment, seq, content IS NOT NULL FROM messages
		WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(rg.Agent), int64(rg.Start), limitOf(rg.End))
}

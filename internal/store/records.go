package store

import (
	"context"
	"database/sql"
	"iter"

	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// So many records go to the auditor at once, and so many times that are read ahead of it.
const (
	auditBatch = 256
	auditAhead = 4
)

// auditRecords reads records, while another goroutine checks those before them: both take about as
// long.
func (r reader) auditRecords(ctx context.Context, u *registry.Auditor) error {
	batches, found := make(chan []history.Record, auditAhead), make(chan struct{})
	var damage error
	told := registry.Watcher(ctx)
	go func() {
		defer close(found)
		for batch := range batches {
			for _, e := range batch {
				if damage = u.Record(e); damage != nil {
					return
				}
			}
			told(len(batch))
		}
	}()
	err := r.readRecords(ctx, batches, found)
	close(batches)
	<-found
	if damage != nil { // it stands before whatever reading met
		return damage
	}
	return err
}

// readRecords hands all records over, until the receiver is gone (gone).
func (r reader) readRecords(ctx context.Context, batches chan<- []history.Record, gone <-chan struct{}) error {
	rows, err := r.q.QueryContext(ctx, `SELECT `+recordColumns+` FROM messages ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s := recordScan{}
	for more := true; more; {
		batch := make([]history.Record, 0, auditBatch)
		for err == nil && len(batch) < auditBatch {
			if more = rows.Next(); !more {
				err = rows.Err()
				break
			}
			var e history.Record
			if e, err = s.scan(rows); err == nil {
				batch = append(batch, e)
			}
		}
		select {
		case batches <- batch: // also those before an error: there may be damage among them
		case <-gone:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recordColumns are those of recordScan.
const recordColumns = entryColumns + `, salt, commitment, seq`

// recordScan reads records, one after the other, which belong to the caller.
type recordScan struct {
	entryScan
	salt       storedBytes
	commitment sql.RawBytes
	seq        int64
}

func (s *recordScan) scan(rows *sql.Rows) (history.Record, error) {
	s.more = []any{&s.salt, &s.commitment, &s.seq}
	e, err := s.entryScan.scan(rows)
	return history.Record{Entry: e, Salt: s.salt, Commitment: toHash(s.commitment), Seq: s.seq}, err
}

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

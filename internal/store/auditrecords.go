package store

import (
	"context"
	"database/sql"
	"fmt"

	"ramet/internal/base/id"
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
	rows, err := r.q.QueryContext(ctx, `SELECT `+entryColumns+`, salt, commitment, seq FROM messages ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s := recordScan{lends: r.d.Lends()}
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

// recordScan reads records, one after the other, which belong to the caller.
type recordScan struct {
	lends bool // see Dialect

	share                 entryScan
	row                   history.Record
	content, salt         held
	agentText, kind, meta sql.RawBytes
	hash, commitment      sql.RawBytes
	created               int64
	into                  []any
}

func (s *recordScan) scan(rows *sql.Rows) (history.Record, error) {
	if s.into == nil {
		s.content.lends, s.salt.lends = s.lends, s.lends
		s.into = []any{(*number)(&s.row.ID), &s.agentText, &s.kind, &s.content, &s.meta, &s.created, &s.hash, &s.salt, &s.commitment, &s.row.Seq}
	}
	if err := rows.Scan(s.into...); err != nil {
		return s.row, unreadableRow(rows, id.Agent(s.agentText), s.row.ID, err)
	}
	e := s.row
	s.share.share(&e.Entry, s.agentText, s.kind, s.meta)
	e.Content, e.Salt = s.content.bytes, s.salt.bytes
	e.CreatedAt, e.Hash, e.Commitment = fromMicros(s.created), toHash(s.hash), toHash(s.commitment)
	return e, nil
}

// held are bytes that stay: nil for NULL, and for nothing else.
type held struct {
	lends bool
	bytes []byte
}

// Scan implements sql.Scanner.
func (h *held) Scan(v any) error {
	switch v := v.(type) {
	case []byte:
		if h.bytes = v; h.lends || v == nil {
			h.bytes = append([]byte{}, v...)
		}
	case string: // bytes that were stored as a text are the same bytes
		h.bytes = []byte(v)
	case nil:
		h.bytes = nil
	default:
		return fmt.Errorf("%T are no bytes", v)
	}
	return nil
}

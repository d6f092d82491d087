package store

import (
	"context"
	"database/sql"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
)

// Create implements telemetry.Store.
func (s *Store) Create(ctx context.Context, news []telemetry.New) ([]telemetry.Result, error) {
	if len(news) == 0 {
		return nil, nil
	}
	for i := range news {
		if err := checkWhole(&news[i]); err != nil {
			return nil, err
		}
	}
	c := &call{news: news}
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return c.results, nil
}

// checkWhole refuses a record that ParseNew cannot have made.
func checkWhole(n *telemetry.New) error {
	id, err := telemetry.ParseEventID(n.EventID)
	if err == nil && (id != n.EventID || n.RunID == "" || len(n.BodyHash) != 64) {
		err = fault.New(fault.InvalidField, "telemetry run %s lacks its run_id or the hash of its body", n.EventID)
	}
	return err
}

// Patch implements telemetry.Store.
func (s *Store) Patch(ctx context.Context, eventID string, p telemetry.Patch) (telemetry.Record, error) {
	eventID, err := telemetry.ParseEventID(eventID)
	if err != nil {
		return telemetry.Record{}, err
	}
	c := &call{eventID: eventID, patch: p}
	if err := s.do(ctx, c); err != nil {
		return telemetry.Record{}, err
	}
	if c.refused != nil {
		return telemetry.Record{}, c.refused
	}
	return c.record, nil
}

// do carries out a call, together with others.
func (s *Store) do(ctx context.Context, c *call) error {
	if err := s.line.Do(ctx, c); err != nil {
		return err
	}
	return c.err
}

// carry carries out the calls of a batch. If the database refuses their transaction, each call gets one of its own,
// so that only the culprit fails.
func (s *Store) carry(batch []*call) error {
	err := s.fail("write", database.Repeat(context.Background(), func() error { return s.once(batch) }))
	if code := fault.CodeOf(err); err != nil && len(batch) > 1 && (code == fault.Failed || code == fault.Conflict) {
		for _, c := range batch {
			if fatal := s.carry([]*call{c}); fatal != nil {
				return fatal
			}
		}
		return nil
	}
	for _, c := range batch {
		c.err = err
	}
	if err != nil && s.fatal(err) {
		return err
	}
	return nil
}

// once carries out calls in one transaction, creations first. The context of one caller does not end it, because many
// wait for it.
func (s *Store) once(batch []*call) error {
	ctx := context.Background()
	if s.patience > 0 {
		patient, cancel := context.WithTimeout(ctx, s.patience)
		defer cancel()
		ctx = patient
	}
	tx, err := s.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	now := s.now().UTC().Truncate(time.Microsecond)
	if err := s.createAll(ctx, tx, batch, now); err != nil {
		return err
	}
	for _, c := range batch {
		if c.isPatch() {
			if err := s.change(ctx, tx, c, now); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// beginWrite begins a transaction that is the only one to write records until it ends. Two
// batches with the same ids in different orders would block each other, and a record with a
// lower number could appear after a reader has passed its place in a list.
func (s *Store) beginWrite(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil || s.takeTurn == "" {
		return tx, err
	}
	if _, err := tx.ExecContext(ctx, s.takeTurn); err != nil {
		tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// maxBatch bounds the records of one transaction; a single call may have more.
const maxBatch = 2000

// call is one Create or Patch on its way.
type call struct {
	news    []telemetry.New
	results []telemetry.Result

	eventID string // of a Patch
	patch   telemetry.Patch
	record  telemetry.Record
	refused error // by the domain; the others of the transaction go on

	err error
}

func (c *call) isPatch() bool { return c.eventID != "" }

// newLine lets many callers share one transaction.
func newLine(place string, carry func([]*call) error) *database.Line[*call] {
	return database.NewLine(database.LineOptions[*call]{Place: place, Verb: "write to", Carry: carry,
		Size: func(c *call) int { return max(1, len(c.news)) }, Most: maxBatch,
		Interrupted: func(cause error) error { return fault.New(fault.Interrupted, "write to %s: %w", place, cause) }})
}

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
	if c.record, c.refused = telemetry.Apply(c.record, c.patch, now); c.refused != nil {
		return nil
	}
	values, err := columnValues(&c.record)
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, s.update).ExecContext(ctx, append(values, c.eventID)...)
	return err
}

func notFound(eventID string) error {
	return fault.New(fault.NotFound, "no telemetry run %s", eventID).WithHint("GET /api/v1/runs lists them")
}

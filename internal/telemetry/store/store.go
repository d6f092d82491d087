// Package store keeps telemetry runs in a database: an SQLite file, or a schema of a
// PostgreSQL server that several hosts share. It is written once over database/sql; what
// the engines do differently is a dialect.
//
// In addition to telemetry.Store it promises:
//
//   - What was acknowledged is on the disk (SQLite: WAL, synchronous FULL; PostgreSQL: as
//     the server is set up).
//   - Records are listed in the order of their arrival, newest first. A page continues after the last record of the
//     page before, so that records that arrive meanwhile move nothing.
//   - After a commit of SQLite that may or may not be on the disk nothing is written any
//     more; start again.
//
// A row holds the record as JSON, without the objects metrics_json and context_json, which have columns of their own
// in their RFC 8785 form; copies of the fields that queries use, times in microseconds; the trace_id of the context;
// and the hash of the body that created it. A new field needs no new column.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// dialect holds the differences between the engines.
type dialect struct {
	place string // for people; never a password
	// takeTurn waits until no other transaction writes records; empty where the engine
	// has one writer at a time anyway.
	takeTurn string
	// patience limits the time of a transaction; 0 where nothing can keep it waiting.
	patience time.Duration
	// fault turns a driver's error into one of ours, or returns it as it is.
	fault func(error) error
	// fatal: it is not known what is on the disk.
	fatal func(error) bool
}

// Store implements telemetry.Store.
type Store struct {
	dialect
	writer, readers *sql.DB
	now             func() time.Time
	unusable        atomic.Pointer[fault.Error] // why nothing is written any more
}

var _ telemetry.Store = (*Store)(nil)

// Place returns the place of the records, for people.
func (s *Store) Place() string { return s.place }

// Close waits for what is being written and gives back the database.
func (s *Store) Close() (err error) {
	s.unusable.Store(fault.New(fault.Conflict, "write to %s: it is closed", s.place))
	return errors.Join(s.writer.Close(), s.readers.Close())
}

// fail gives an error its fault.
func (s *Store) fail(verb string, err error) error {
	if _, ours := fault.Of(err); ours || err == nil {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Interrupted, "%s: %w", verb, err)
	}
	if err = s.dialect.fault(err); fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fmt.Errorf("%s: %s: %w", s.place, verb, err)
}

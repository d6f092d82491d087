package store

import (
	"ramet/internal/base/fault"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
)

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

package run

import (
	"context"
	"iter"
)

// Entry is an event with its place in the log.
type Entry struct {
	Event
	Line   int64 // from 1
	Offset int64 // of its first byte, where the log is a file
	Raw    []byte
}

// Log is the events of one run, open for reading. Implementations check lines,
// hashes and links as they read; damage is EVENT_CHAIN_BROKEN with line and byte.
// Readers ignore an unfinished last line.
type Log interface {
	// Events streams the events after the first n, in order, all of them
	// verified; for n > 0 the chain is checked from there on, the event before
	// being taken as given. The entries belong to the caller.
	Events(ctx context.Context, after int64) iter.Seq2[Entry, error]
	// Last returns the newest event; ok is false for an empty log. It does not
	// read the log.
	Last(ctx context.Context) (e Entry, ok bool, err error)
	// Close gives back what the reader holds.
	Close() error
}

// Writer is the events of one run, open for appending. There is one at a time for
// each run: opening a second is LOCKED, with its owner. Many goroutines may
// append at once; they share commits.
type Writer interface {
	Log
	// Append links the drafts to the end of the log, in order, and returns when
	// they are durable. Events of one call are written together. After a failed
	// sync every later call fails: what is on the disk is not known any more.
	Append(ctx context.Context, drafts ...Draft) ([]Event, error)
}

// Draft is an event that is not linked yet.
type Draft struct {
	ID         string
	RunID      string
	TS         string
	Type       Type
	Payload    []byte // RFC 8785 form, checked
	TraceID    string
	SpanID     string
	ParentSpan string
}

// Link gives the draft its place behind prev.
func (d Draft) Link(prev string) Event {
	e := Event{ID: d.ID, RunID: d.RunID, TS: d.TS, Type: d.Type, Payload: d.Payload, TraceID: d.TraceID,
		SpanID: d.SpanID, ParentSpan: d.ParentSpan, PrevHash: prev}
	e.Hash = e.Sum()
	return e
}

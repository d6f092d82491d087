package run

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
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

// Tail describes the bytes that a crash left after the last whole line of a log.
type Tail struct {
	Line   int64 `json:"line"` // the one that it would be
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Torn is a log that can end in the middle of a line. The logs of databases cannot.
type Torn interface {
	Torn(ctx context.Context) (tail Tail, torn bool, err error)
}

// Writer is the events of one run, open for appending. There is one at a time for
// each run: opening a second is LOCKED, with its owner. It is safe for concurrent use.
type Writer interface {
	Log
	// Append links the drafts to the end of the log, in order, and returns when
	// they are durable. Events of one call are written together. After a failed
	// sync every later call fails: what is on the disk is not known any more.
	Append(ctx context.Context, drafts ...Draft) ([]Event, error)
}

// CheckLogFile refuses what cannot be the file of a log.
func CheckLogFile(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fault.New(fault.StorageForeign, "%s is a folder, not an event log", path).WithHint("nothing was changed")
	case !info.Mode().IsRegular():
		return fault.New(fault.StorageForeign, "%s is not a file", path).WithHint("nothing was changed")
	}
	return nil
}

// Draft is an event that is not linked yet.
type Draft struct {
	ID         string
	RunID      string
	TS         string
	Type       Type
	Payload    []byte // RFC 8785 form; see Check
	TraceID    string
	SpanID     string
	ParentSpan string
}

// Check refuses a draft whose line could not be read again, or whose payload does
// not have the form of its type. A writer asks it before it links anything: what
// ParseLine refuses would be damage of our own making.
func (d Draft) Check() error {
	if err := errors.Join(CheckRunID(d.RunID), CheckType(d.Type), CheckSpans(d.SpanID, d.ParentSpan)); err != nil {
		return err
	}
	line := d.Link("").Line()
	if len(line) > MaxLine {
		return fault.New(fault.InvalidEvent, "event %.60s: it is longer than %d bytes", d.ID, MaxLine)
	}
	if form, err := chain.Canonical(d.Payload); err != nil || !bytes.Equal(form, d.Payload) {
		return fault.New(fault.InvalidEvent, "event %.60s: payload is not in RFC 8785 form", d.ID)
	}
	if _, err := ParseLine(line); err != nil {
		return fault.New(fault.InvalidEvent, "event %.60s: %w", d.ID, err)
	}
	return CheckPayload(d.Type, d.Payload)
}

// Link links the draft to the event before, whose hash is prev.
func (d Draft) Link(prev string) Event {
	e := Event{ID: d.ID, RunID: d.RunID, TS: d.TS, Type: d.Type, Payload: d.Payload, TraceID: d.TraceID,
		SpanID: d.SpanID, ParentSpan: d.ParentSpan, PrevHash: prev}
	e.Hash = e.Sum()
	return e
}

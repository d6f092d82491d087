package run

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"ramet/internal/base/fault"
)

// FatalError marks an error after which the end of the log is not known.
type FatalError struct{ Err error }

func (f *FatalError) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *FatalError) Unwrap() error { return f.Err }

// Appender links drafts to the end of one log and has them written. It is safe for concurrent use.
type Appender struct {
	place string
	// write appends events, all or none, and returns when they are durable. It may set Offset. After an error none
	// of them is in the log, unless the error is a FatalError.
	write func([]Entry) error

	mu     sync.Mutex // guards what follows
	chain  *Chain     // nil: the log is empty
	last   Entry
	failed error // after which nothing is written
}

// NewAppender makes an appender for a log that ends with last.
func NewAppender(place string, chain *Chain, last Entry, write func([]Entry) error) *Appender {
	return &Appender{place: place, chain: chain, last: last, write: write}
}

// Last implements Log.
func (a *Appender) Last(context.Context) (Entry, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, a.chain != nil, nil
}

// Count returns the number of events in the log.
func (a *Appender) Count() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.Line
}

// Close waits for the call that is being written, and refuses later ones.
func (a *Appender) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = fault.New(fault.Conflict, "append to %s: %w", a.place, fs.ErrClosed)
	}
}

// Append implements Writer.
func (a *Appender) Append(ctx context.Context, drafts ...Draft) ([]Event, error) {
	for _, d := range drafts {
		if err := d.Check(); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, CancelledRead("append", err)
	}
	if a.failed != nil || len(drafts) == 0 {
		return nil, a.failed
	}
	entries, events, err := a.link(drafts)
	if err != nil {
		return nil, err
	}
	if err := a.write(entries); err != nil {
		if fatal := (*FatalError)(nil); errors.As(err, &fatal) {
			err = fatal.Err
			a.failed = fault.New(fault.CodeOf(err), "%s: an earlier write failed, so nothing more is written: %w", a.place, err).
				WithHint("start again; what was acknowledged is on disk")
		}
		return nil, err
	}
	if a.chain == nil {
		a.chain = NewChain(events[0].RunID, events[0].PrevHash)
	}
	for _, e := range events {
		a.chain.follow(e)
	}
	a.last = entries[len(entries)-1]
	return events, nil
}

// link links drafts to the end of the log.
func (a *Appender) link(drafts []Draft) (entries []Entry, events []Event, err error) {
	runID, prev := drafts[0].RunID, ""
	if a.chain != nil {
		runID, prev = a.chain.RunID(), a.chain.Prev()
	} else if prev, err = RootHash(drafts[0].Type, drafts[0].Payload); err != nil {
		return nil, nil, fault.New(fault.InvalidEvent, "%s: %w", a.place, err)
	}
	ids := map[string]bool{}
	for i, d := range drafts {
		switch {
		case d.RunID != runID:
			return nil, nil, fault.New(fault.InvalidEvent, "%s: event %s is one of run %s, the log is that of run %s", a.place, d.ID, d.RunID, runID)
		case ids[d.ID] || a.chain != nil && a.chain.Has(d.ID):
			return nil, nil, fault.New(fault.Conflict, "%s: event %s is in the log already", a.place, d.ID).
				WithHint("every event has an id of its own")
		}
		ids[d.ID] = true
		e := d.Link(prev)
		prev = e.Hash
		events = append(events, e)
		entries = append(entries, Entry{Event: e, Line: a.last.Line + int64(i) + 1, Raw: e.Line()})
	}
	return entries, events, nil
}

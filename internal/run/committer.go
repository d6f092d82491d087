package run

import (
	"context"
	"errors"
	"sync"

	"ramet/internal/store/database"
)

// CommitSink writes events behind those it wrote before, all or none, and returns when
// they are durable. It may fill in Offset. After an error none of them is in the
// log, unless the error is Fatal.
type CommitSink func(entries []Entry) error

// FatalError marks an error after which the end of the log is not known.
type FatalError struct{ Err error }

func (f *FatalError) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *FatalError) Unwrap() error { return f.Err }

// maxBatch bounds what is written at once, in bytes of payload; a single call may
// be larger.
const maxBatch = 16 << 20

// CommitState is where a log ends.
type CommitState struct {
	Chain *Chain // nil: empty
	Count int64
	Last  Entry
}

// Committer appends to one log.
type Committer struct {
	place string
	sink  CommitSink
	line  *database.Line[*call]

	mu    sync.Mutex // guards state
	state CommitState

	entries []Entry // of the writer; reused
}

// call is one Append on its way.
type call struct {
	drafts []Draft
	events []Event
	err    error
	size   int
}

// NewCommitter makes a committer for a log that ends at state.
func NewCommitter(place string, state CommitState, sink CommitSink) *Committer {
	c := &Committer{place: place, state: state, sink: sink}
	c.line = database.NewLine(database.LineOptions[*call]{Place: place, Verb: "append to", Carry: c.carry,
		Size: func(one *call) int { return one.size }, Most: maxBatch,
		Interrupted: func(cause error) error { return CancelledRead("append", cause) }})
	return c
}

// State is where the log ends now: what is durable.
func (c *Committer) State() CommitState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Append implements Writer.
func (c *Committer) Append(ctx context.Context, drafts ...Draft) ([]Event, error) {
	me := &call{drafts: drafts}
	for _, d := range drafts {
		if err := d.Check(); err != nil {
			return nil, err
		}
		me.size += len(d.Payload)
	}
	if err := ctx.Err(); err != nil {
		return nil, CancelledRead("append", err)
	}
	if len(drafts) == 0 {
		return nil, c.line.Usable()
	}
	if err := c.line.Do(ctx, me); err != nil {
		return nil, err
	}
	return me.events, me.err
}

// carry writes one batch.
func (c *Committer) carry(batch []*call) error {
	state, err := c.write(c.State(), batch)
	c.mu.Lock()
	c.state = state
	c.mu.Unlock()
	var failed error
	if fatal := (*FatalError)(nil); errors.As(err, &fatal) {
		err, failed = fatal.Err, fatal.Err
	}
	for _, one := range batch {
		if one.err == nil {
			one.err = err
		}
		if one.err != nil {
			one.events = nil
		}
	}
	return failed
}

// Close waits for what is being written and refuses what comes later. Those who
// still wait in line are served.
func (c *Committer) Close() { c.line.Close() }

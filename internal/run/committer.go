package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/store/database"
)

// CommitSink appends events, all or none, and returns when they are durable. It may set Offset. After an error none
// of them is in the log, unless the error is a FatalError.
type CommitSink func(entries []Entry) error

// FatalError marks an error after which the end of the log is not known.
type FatalError struct{ Err error }

func (f *FatalError) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *FatalError) Unwrap() error { return f.Err }

// maxBatch bounds what is written at once, in bytes of payload; a single call may
// be larger.
const maxBatch = 16 << 20

// CommitState describes the end of a log.
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

// State returns the durable end of the log.
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

// Close waits for the calls that were made before it, and refuses later ones.
func (c *Committer) Close() { c.line.Close() }

// write links the drafts of a batch and has them written. It returns the new end of the log; after an error, the old
// one.
func (c *Committer) write(state CommitState, batch []*call) (CommitState, error) {
	l := linker{place: c.place, state: state, entries: c.entries[:0]}
	if state.Chain != nil {
		l.runID, l.prev = state.Chain.RunID(), state.Chain.Prev()
	}
	for _, one := range batch {
		one.err = l.link(one)
	}
	c.entries = l.entries
	if len(l.entries) == 0 {
		return state, nil
	}
	if err := c.sink(l.entries); err != nil {
		clear(l.entries)
		return state, err
	}
	chain := state.Chain
	if chain == nil {
		chain = NewChain(l.runID, l.entries[0].PrevHash)
	}
	for i := range l.entries {
		if err := chain.Follow(l.entries[i].Event); err != nil {
			return state, &FatalError{fmt.Errorf("%s: what was just written does not follow: %w", c.place, err)}
		}
	}
	last := l.entries[len(l.entries)-1]
	clear(l.entries) // so that payloads are not kept
	return CommitState{Chain: chain, Count: last.Line, Last: last}, nil
}

// linker links drafts to the end of a log.
type linker struct {
	place   string
	state   CommitState
	runID   string // empty: the next draft names it
	prev    string
	entries []Entry
	ids     map[string]struct{} // of the batch
}

// link adds the drafts of one call, all or none.
func (l *linker) link(one *call) error {
	before := *l
	if err := l.add(one); err != nil {
		for _, e := range l.entries[len(before.entries):] {
			delete(l.ids, e.ID)
		}
		before.ids = l.ids
		*l = before
		return err
	}
	return nil
}

func (l *linker) add(one *call) error {
	if l.ids == nil {
		l.ids = map[string]struct{}{}
	}
	one.events = make([]Event, 0, len(one.drafts))
	for _, d := range one.drafts {
		if err := l.fits(d); err != nil {
			return err
		}
		e := d.Link(l.prev)
		l.prev = e.Hash
		l.ids[e.ID] = struct{}{}
		one.events = append(one.events, e)
		l.entries = append(l.entries, Entry{Event: e, Line: l.state.Count + int64(len(l.entries)) + 1, Raw: e.Line()})
	}
	return nil
}

func (l *linker) fits(d Draft) error {
	if l.runID == "" {
		root, err := RootHash(d.Type, d.Payload)
		if err != nil {
			return fault.New(fault.InvalidEvent, "%s: %w", l.place, err)
		}
		l.runID, l.prev = d.RunID, root
	}
	_, inBatch := l.ids[d.ID]
	switch {
	case d.RunID != l.runID:
		return fault.New(fault.InvalidEvent, "%s: event %s is one of run %s, the log is that of run %s", l.place, d.ID, d.RunID, l.runID)
	case inBatch || l.state.Chain != nil && l.state.Chain.Has(d.ID):
		return fault.New(fault.Conflict, "%s: event %s is in the log already", l.place, d.ID).
			WithHint("every event has an id of its own")
	}
	return nil
}

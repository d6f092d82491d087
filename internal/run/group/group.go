// Package group lets many callers share one durable write.
//
// Callers of Append wait in line. The first of them, when nothing is being
// written, takes everybody who waits, links all their drafts in the order of the
// calls, has them written in one piece, and wakes them; then the next one leads.
// So there is no helper to start or stop, a lone caller pays for no hand-over,
// and the cost of a sync is shared by as many as wait for it.
//
// Drafts that do not fit are refused to their caller alone. Nothing is
// acknowledged that the sink did not call durable, and after a failure that
// leaves the end of the log unknown (see Fatal) nothing is written any more.
package group

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/run/verified"
)

// Sink writes events behind those it wrote before, all or none, and returns when
// they are durable. It may fill in Offset. After an error none of them is in the
// log, unless the error is Fatal.
type Sink func(entries []run.Entry) error

// Fatal marks an error after which the end of the log is not known.
type Fatal struct{ Err error }

func (f *Fatal) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Fatal) Unwrap() error { return f.Err }

// maxBatch bounds what is written at once, in bytes of payload; a single call may
// be larger.
const maxBatch = 16 << 20

// State is where a log ends.
type State struct {
	Chain *run.Chain // nil: empty
	Count int64
	Last  run.Entry
}

// Committer appends to one log.
type Committer struct {
	place string
	sink  Sink

	mu      sync.Mutex // guards all below
	state   State
	waiting []*call
	leading bool // somebody writes
	idle    *sync.Cond
	failed  error // for ever
	closed  bool

	entries []run.Entry // the leader's; reused
}

// call is one Append on its way.
type call struct {
	drafts []run.Draft
	events []run.Event
	err    error
	size   int
	wake   chan bool // true: lead; false: done
	leads  bool      // was told to lead
}

// New makes a committer for a log that ends at state.
func New(place string, state State, sink Sink) *Committer {
	c := &Committer{place: place, state: state, sink: sink}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// State is where the log ends now: what is durable.
func (c *Committer) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Append implements run.Writer.
func (c *Committer) Append(ctx context.Context, drafts ...run.Draft) ([]run.Event, error) {
	me := &call{drafts: drafts, wake: make(chan bool, 1)}
	for _, d := range drafts {
		if err := d.Check(); err != nil {
			return nil, err
		}
		me.size += len(d.Payload)
	}
	if err := ctx.Err(); err != nil {
		return nil, verified.Cancelled("append", err)
	}
	c.mu.Lock()
	if err := c.usable(); err != nil || len(drafts) == 0 {
		c.mu.Unlock()
		return nil, err
	}
	c.waiting = append(c.waiting, me)
	if c.leading {
		c.mu.Unlock()
		lead, err := c.wait(ctx, me)
		if err != nil {
			return nil, err
		}
		if !lead {
			return me.events, me.err
		}
	} else {
		c.leading = true
		c.mu.Unlock()
	}
	c.lead()
	return me.events, me.err
}

// wait until the call is written, or may lead. A call that nobody has begun to
// write can still be taken back.
func (c *Committer) wait(ctx context.Context, me *call) (lead bool, err error) {
	select {
	case lead := <-me.wake:
		return lead, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	if i := slices.Index(c.waiting, me); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		if me.leads {
			c.handOver()
		}
		c.mu.Unlock()
		return false, verified.Cancelled("append", ctx.Err())
	}
	c.mu.Unlock()
	return <-me.wake, nil // too late: what is being written is awaited
}

// lead writes one batch, in which the leader's own call stands first.
func (c *Committer) lead() {
	c.mu.Lock()
	batch := c.take()
	err := c.usable()
	state := c.state
	c.mu.Unlock()
	if err == nil {
		state, err = c.write(state, batch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = state
	if fatal := (*Fatal)(nil); errors.As(err, &fatal) {
		err = fatal.Err
		c.failed = err
	}
	for i, done := range batch {
		if done.err == nil {
			done.err = err
		}
		if done.err != nil {
			done.events = nil
		}
		if i > 0 { // the first is the leader
			done.wake <- false
		}
	}
	c.handOver()
}

// handOver lets the next one lead. mu is held.
func (c *Committer) handOver() {
	if len(c.waiting) == 0 {
		c.leading = false
		c.idle.Broadcast()
		return
	}
	c.waiting[0].leads = true
	c.waiting[0].wake <- true
}

// take removes the calls of the next batch from the line. mu is held.
func (c *Committer) take() []*call {
	n, size := 0, 0
	for n < len(c.waiting) && (n == 0 || size+c.waiting[n].size <= maxBatch) {
		size += c.waiting[n].size
		n++
	}
	batch := slices.Clone(c.waiting[:n])
	c.waiting = slices.Delete(c.waiting, 0, n)
	return batch
}

func (c *Committer) usable() error {
	switch {
	case c.failed != nil:
		return fault.New(fault.CodeOf(c.failed), "%s: an earlier write failed, so nothing more is written: %w", c.place, c.failed).
			WithHint("start again; what was acknowledged is in the log")
	case c.closed:
		return fault.New(fault.Conflict, "append to %s: %w", c.place, fs.ErrClosed)
	}
	return nil
}

// Close waits for what is being written and refuses what comes later. Those who
// still wait in line are served.
func (c *Committer) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.leading {
		c.idle.Wait()
	}
	c.closed = true
}

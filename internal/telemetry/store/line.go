package store

import (
	"context"
	"io/fs"
	"slices"
	"sync"

	"ramet/internal/fault"
	"ramet/internal/telemetry"
)

// maxBatch bounds the records of one transaction; a single call may have more.
const maxBatch = 2000

// line lets many callers share one transaction. Callers wait in line; the first of them,
// when nothing is being written, takes everybody who waits, has their calls carried out
// in one transaction, and wakes them; then the next one leads. So a lone caller pays for
// no hand-over, and there is nothing to start or stop.
type line struct {
	place string
	// carry does what the calls ask for, fills in what came of each, and returns an
	// error after which nothing may be written any more.
	carry func([]*call) error

	mu      sync.Mutex // guards all below
	waiting []*call
	leading bool // somebody writes
	idle    *sync.Cond
	failed  error // for ever
	closed  bool
}

// call is one Create or Patch on its way.
type call struct {
	news    []telemetry.New
	results []telemetry.Result

	eventID string // of a Patch
	patch   telemetry.Patch
	record  telemetry.Record
	refused error // by the domain; the others of the transaction go on

	err   error
	wake  chan bool // true: lead; false: done
	leads bool      // was told to lead
}

func (c *call) isPatch() bool { return c.eventID != "" }

func newLine(place string, carry func([]*call) error) *line {
	l := &line{place: place, carry: carry}
	l.idle = sync.NewCond(&l.mu)
	return l
}

// do returns when the call was carried out, or could not be.
func (l *line) do(ctx context.Context, me *call) error {
	me.wake = make(chan bool, 1)
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Interrupted, "write to %s: %w", l.place, err)
	}
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return err
	}
	l.waiting = append(l.waiting, me)
	if l.leading {
		l.mu.Unlock()
		lead, err := l.wait(ctx, me)
		if err != nil {
			return err
		}
		if !lead {
			return me.err
		}
	} else {
		l.leading = true
		l.mu.Unlock()
	}
	l.lead()
	return me.err
}

// wait until the call is carried out, or may lead. A call that nobody has begun with can
// still be taken back.
func (l *line) wait(ctx context.Context, me *call) (lead bool, err error) {
	select {
	case lead := <-me.wake:
		return lead, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	if i := slices.Index(l.waiting, me); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		if me.leads {
			l.handOver()
		}
		l.mu.Unlock()
		return false, fault.New(fault.Interrupted, "write to %s: %w", l.place, ctx.Err())
	}
	l.mu.Unlock()
	return <-me.wake, nil // too late: what is being written is awaited
}

// lead carries out one batch, in which the leader's own call stands first.
func (l *line) lead() {
	l.mu.Lock()
	batch := l.take()
	err := l.usable()
	l.mu.Unlock()
	if err != nil {
		for _, c := range batch {
			c.err = err
		}
	} else {
		err = l.carry(batch)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
	for _, done := range batch[1:] { // the first is the leader
		done.wake <- false
	}
	l.handOver()
}

// handOver lets the next one lead. mu is held.
func (l *line) handOver() {
	if len(l.waiting) == 0 {
		l.leading = false
		l.idle.Broadcast()
		return
	}
	l.waiting[0].leads = true
	l.waiting[0].wake <- true
}

// take removes the calls of the next batch from the line. mu is held.
func (l *line) take() []*call {
	n, size := 0, 0
	for n < len(l.waiting) && (n == 0 || size+len(l.waiting[n].news) <= maxBatch) {
		size += max(1, len(l.waiting[n].news))
		n++
	}
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

func (l *line) usable() error {
	switch {
	case l.failed != nil:
		return fault.New(fault.CodeOf(l.failed), "%s: an earlier write failed, so nothing more is written: %w", l.place, l.failed).
			WithHint("start again; what was acknowledged is there")
	case l.closed:
		return fault.New(fault.Conflict, "write to %s: %w", l.place, fs.ErrClosed)
	}
	return nil
}

// close waits for what is being written, serves those who still wait in line, and
// refuses what comes later.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.leading {
		l.idle.Wait()
	}
	l.closed = true
}

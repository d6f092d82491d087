package database

import (
	"context"
	"io/fs"
	"slices"
	"sync"

	"ramet/internal/base/fault"
)

// LineOptions of a line of calls C.
type LineOptions[C any] struct {
	Place string // for people
	Verb  string // what is done there: "append to"
	// Carry carries out calls in their order, and notes in each what came of it. An error is
	// one after which nothing may be written any more.
	Carry func([]C) error
	// Size of a call; those of one Carry have at most Most together, but for a single one.
	Size func(C) int
	Most int
	// Interrupted is the error of a call whose context ended before anybody began with it.
	Interrupted func(cause error) error
}

// Line is a line of calls.
type Line[C any] struct {
	LineOptions[C]

	mu      sync.Mutex // guards all below
	waiting []*waiter[C]
	leading bool // a call is being written
	idle    *sync.Cond
	failed  error // forever
	closed  bool
}

// waiter is a call on its way.
type waiter[C any] struct {
	call  C
	err   error
	wake  chan bool // true: lead; false: done
	leads bool      // was told to lead
}

// NewLine makes a line.
func NewLine[C any](o LineOptions[C]) *Line[C] {
	l := &Line[C]{LineOptions: o}
	l.idle = sync.NewCond(&l.mu)
	return l
}

// Do returns when a call was carried out, or could not be. What came of it is in the
// call, if there is no error.
func (l *Line[C]) Do(ctx context.Context, call C) error {
	me := &waiter[C]{call: call, wake: make(chan bool, 1)}
	if err := ctx.Err(); err != nil {
		return l.Interrupted(err)
	}
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return err
	}
	l.waiting = append(l.waiting, me)
	if !l.leading {
		l.leading = true
		l.mu.Unlock()
		l.lead()
		return me.err
	}
	l.mu.Unlock()
	lead, err := l.wait(ctx, me)
	if err != nil {
		return err
	}
	if lead {
		l.lead()
	}
	return me.err
}

// wait until the call is carried out, or may lead. A call that has not begun can
// still be taken back.
func (l *Line[C]) wait(ctx context.Context, me *waiter[C]) (lead bool, err error) {
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
		return false, l.Interrupted(ctx.Err())
	}
	l.mu.Unlock()
	return <-me.wake, nil // too late: what is being written is awaited
}

// lead carries out one batch, in which the leader's own call stands first.
func (l *Line[C]) lead() {
	l.mu.Lock()
	batch := l.take()
	err := l.usable()
	l.mu.Unlock()
	if err != nil {
		for _, w := range batch {
			w.err = err
		}
	} else {
		calls := make([]C, len(batch))
		for i, w := range batch {
			calls[i] = w.call
		}
		err = l.Carry(calls)
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
func (l *Line[C]) handOver() {
	if len(l.waiting) == 0 {
		l.leading = false
		l.idle.Broadcast()
		return
	}
	l.waiting[0].leads = true
	l.waiting[0].wake <- true
}

// take removes the calls of the next batch from the line. mu is held.
func (l *Line[C]) take() []*waiter[C] {
	n, size := 0, 0
	for n < len(l.waiting) {
		more := l.Size(l.waiting[n].call)
		if n > 0 && size+more > l.Most {
			break
		}
		size += more
		n++
	}
	batch := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batch
}

// Usable returns an error if nothing is written any more.
func (l *Line[C]) Usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable()
}

func (l *Line[C]) usable() error {
	switch {
	case l.failed != nil:
		return fault.New(fault.CodeOf(l.failed), "%s: an earlier write failed, so nothing more is written: %w", l.Place, l.failed).
			WithHint("start again; what was acknowledged is there")
	case l.closed:
		return fault.New(fault.Conflict, "%s %s: %w", l.Verb, l.Place, fs.ErrClosed)
	}
	return nil
}

// Close waits for what is being written, serves those who still wait in line, and refuses
// what comes later.
func (l *Line[C]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.leading {
		l.idle.Wait()
	}
	l.closed = true
}

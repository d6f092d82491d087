package runner

import (
	"context"
	"sync"
)

// writing is the way into the log. Events are staged in the order in which the state changed, while
// mu of the run is held; a goroutine that waits for its own writes all that are staged by then. So concurrent workers
// share one wait for the disk.
type writing struct {
	turn sync.Mutex // held while the log is written or read; locked with mu or without

	mu   sync.Mutex // guards next
	next *group     // what is staged; nil: nothing
}

// group are events that are written together, all or none.
type group struct {
	records []Record
	over    bool  // guarded by turn: it was written, or could not be
	err     error // then
}

// stage adds events to those that are staged.
func (w *writing) stage(records ...Record) *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = &group{}
	}
	w.next.records = append(w.next.records, records...)
	return w.next
}

// staged takes what is staged.
func (w *writing) staged() *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.next
	w.next = nil
	return b
}

// written returns when the events of a group are durable and were passed to Watch. The caller need not
// hold mu.
func (r *Run) written(ctx context.Context, b *group) error {
	r.writing.turn.Lock()
	defer r.writing.turn.Unlock()
	if b.over {
		return b.err
	}
	b = r.writing.staged() // it is this one: a group is written by the goroutine that takes it, before turn is released
	b.over, b.err = true, r.Log.Append(context.WithoutCancel(ctx), b.records...)
	if b.err == nil && r.Watch != nil {
		for _, e := range b.records {
			r.Watch(e)
		}
	}
	b.records = nil // attempts keep it until they are over
	return b.err
}

// events returns the number of events in the log.
func (r *Run) events() int64 {
	r.writing.turn.Lock()
	defer r.writing.turn.Unlock()
	return r.Log.Now().EventCount
}

// append writes events and passes them to Watch. The caller holds mu. A log that cannot be
// written ends the work.
func (r *Run) append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	err := r.written(ctx, r.writing.stage(records...))
	if err != nil {
		r.stopLocked(err)
	}
	return err
}

// share appends records in one write with those of concurrent callers. It releases mu, which the caller holds, meanwhile.
func (r *Run) share(ctx context.Context, records ...Record) error {
	return r.await(ctx, r.writing.stage(records...))
}

// await gives up mu, which the caller holds, until a group is durable. A log that cannot be
// written ends the work.
func (r *Run) await(ctx context.Context, b *group) error {
	r.mu.Unlock()
	err := r.written(ctx, b)
	r.mu.Lock()
	if err != nil {
		r.stopLocked(err)
	}
	return err
}

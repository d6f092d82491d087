package loop

import (
	"context"
	"iter"
	"sync"
)

// EventBus hands events to their readers. A publisher never waits for a reader: each has a queue of its own, without a
// bound, so nothing is lost as long as it reads on. The zero EventBus is ready for use.
type EventBus struct {
	mu     sync.Mutex
	queues map[*eventQueue]bool
	closed bool
}

type eventQueue struct {
	waiting []Event
	over    bool          // nothing more is put in
	quiet   bool          // its reader asks for nothing (Overhear)
	wake    chan struct{} // has room for one: something changed
}

// Publish hands an event to every reader there is now.
func (b *EventBus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.queues {
		q.waiting = append(q.waiting, e)
		q.ring()
	}
}

// Heard reports whether there is a reader, for publishers that have to find out first what there
// is to say. Those who only overhear are no reason to.
func (b *EventBus) Heard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.queues {
		if !q.quiet {
			return true
		}
	}
	return false
}

// mostRoom limits how many events a reader keeps room for between two batches.
const mostRoom = 512

func (q *eventQueue) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Subscribe begins to listen at once; the events are ranged over later, once. They
// end when ctx does; or, after everything that was published before, when enough
// is called or the bus is closed.
func (b *EventBus) Subscribe(ctx context.Context) (events iter.Seq[Event], enough func()) {
	return b.listen(ctx, &eventQueue{wake: make(chan struct{}, 1)})
}

// Overhear does what Subscribe does for a reader who wants what is said anyway: no process has to find out
// something for it.
func (b *EventBus) Overhear(ctx context.Context) (events iter.Seq[Event], enough func()) {
	return b.listen(ctx, &eventQueue{wake: make(chan struct{}, 1), quiet: true})
}

func (b *EventBus) listen(ctx context.Context, q *eventQueue) (events iter.Seq[Event], enough func()) {
	box := b.join(ctx, q)
	return func(yield func(Event) bool) {
		defer b.leave(q)
		for {
			batch, over := box.take()
			for _, e := range batch {
				if ctx.Err() != nil || !yield(e) {
					return
				}
			}
			if over {
				return
			}
			select {
			case <-q.wake:
			case <-ctx.Done():
				return
			}
		}
	}, func() { b.leave(q) }
}

// join puts a queue beside the others, until ctx ends.
func (b *EventBus) join(ctx context.Context, q *eventQueue) *EventBox {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[*eventQueue]bool{}
	}
	q.over = b.closed
	if !b.closed {
		b.queues[q] = true
	}
	context.AfterFunc(ctx, func() { b.leave(q) })
	return &EventBox{bus: b, queue: q}
}

// EventBox holds events for a reader that polls. It is used by one goroutine at a time.
type EventBox struct {
	bus   *EventBus
	queue *eventQueue
	batch []Event // what was taken last, whose room is for the one after the next
}

// Box does what Subscribe does for such a reader: many values may be taken at once, and no process is woken for each.
func (b *EventBus) Box(ctx context.Context) *EventBox {
	return b.join(ctx, &eventQueue{wake: make(chan struct{}, 1)})
}

// Rings tells, once for all of it, that there is something to take, or that nothing more comes.
func (x *EventBox) Rings() <-chan struct{} { return x.queue.wake }

// Take gives what was published since the last Take, in order. It is good until the next one.
func (x *EventBox) Take() []Event {
	batch, _ := x.take()
	return batch
}

func (x *EventBox) take() (batch []Event, over bool) {
	clear(x.batch) // what was read is not held on to
	room := x.batch[:0]
	if cap(room) > mostRoom {
		room = nil
	}
	x.bus.mu.Lock()
	defer x.bus.mu.Unlock()
	x.batch, x.queue.waiting = x.queue.waiting, room
	return x.batch, x.queue.over
}

// leave puts nothing more into a queue.
func (b *EventBus) leave(q *eventQueue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.queues, q)
	q.over = true
	q.ring()
}

// Close lets readers end once they have read everything.
func (b *EventBus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for q := range b.queues {
		q.over = true
		q.ring()
	}
	b.queues = nil
}

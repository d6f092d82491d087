// Package bus hands what happens to those who want to know. A publisher never
// waits for a reader: each has a queue of its own, without a bound, so nothing is
// lost as long as it reads on.
package bus

import (
	"context"
	"iter"
	"sync"
)

// Bus carries values of one type. The zero Bus is ready for use.
type Bus[T any] struct {
	mu     sync.Mutex
	queues map[*queue[T]]bool
	closed bool
}

type queue[T any] struct {
	waiting []T
	over    bool          // nothing more is put in
	quiet   bool          // its reader asks for nothing (Overhear)
	wake    chan struct{} // has room for one: something changed
}

// Publish hands a value to every reader there is now.
func (b *Bus[T]) Publish(v T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.queues {
		q.waiting = append(q.waiting, v)
		q.ring()
	}
}

// Heard reports whether there is a reader, for publishers that have to find out first what there
// is to say. Those who only overhear are no reason to.
func (b *Bus[T]) Heard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.queues {
		if !q.quiet {
			return true
		}
	}
	return false
}

// mostRoom limits how many values a reader keeps room for between two batches.
const mostRoom = 512

func (q *queue[T]) ring() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Subscribe begins to listen at once; the values are ranged over later, once. They
// end when ctx does; or, after everything that was published before, when enough
// is called or the bus is closed.
func (b *Bus[T]) Subscribe(ctx context.Context) (values iter.Seq[T], enough func()) {
	return b.listen(ctx, &queue[T]{wake: make(chan struct{}, 1)})
}

// Overhear does what Subscribe does for a reader who wants what is said anyway: no process has to find out
// something for it.
func (b *Bus[T]) Overhear(ctx context.Context) (values iter.Seq[T], enough func()) {
	return b.listen(ctx, &queue[T]{wake: make(chan struct{}, 1), quiet: true})
}

func (b *Bus[T]) listen(ctx context.Context, q *queue[T]) (values iter.Seq[T], enough func()) {
	box := b.join(ctx, q)
	return func(yield func(T) bool) {
		defer b.leave(q)
		for {
			batch, over := box.take()
			for _, v := range batch {
				if ctx.Err() != nil || !yield(v) {
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
func (b *Bus[T]) join(ctx context.Context, q *queue[T]) *Box[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues == nil {
		b.queues = map[*queue[T]]bool{}
	}
	q.over = b.closed
	if !b.closed {
		b.queues[q] = true
	}
	context.AfterFunc(ctx, func() { b.leave(q) })
	return &Box[T]{bus: b, queue: q}
}

// Box holds values for a reader that polls. It is used by one goroutine at a time.
type Box[T any] struct {
	bus   *Bus[T]
	queue *queue[T]
	batch []T // what was taken last, whose room is for the one after the next
}

// Box does what Subscribe does for such a reader: many values may be taken at once, and no process is woken for each.
func (b *Bus[T]) Box(ctx context.Context) *Box[T] {
	return b.join(ctx, &queue[T]{wake: make(chan struct{}, 1)})
}

// Rings tells, once for all of it, that there is something to take, or that nothing more comes.
func (x *Box[T]) Rings() <-chan struct{} { return x.queue.wake }

// Take gives what was published since the last Take, in order. It is good until the next one.
func (x *Box[T]) Take() []T {
	batch, _ := x.take()
	return batch
}

func (x *Box[T]) take() (batch []T, over bool) {
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
func (b *Bus[T]) leave(q *queue[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.queues, q)
	q.over = true
	q.ring()
}

// Close lets readers end once they have read everything.
func (b *Bus[T]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for q := range b.queues {
		q.over = true
		q.ring()
	}
	b.queues = nil
}

package decorate

import (
	"context"
	"iter"
	"slices"
	"sync"

	"ramet/internal/model/llm"
)

// Queue is the limits that calls share.
type Queue struct {
	mu      sync.Mutex
	all     int            // 0: any number
	each    map[string]int // by vendor; none: any number
	running int
	at      map[string]int
	waiting []*place
}

// place is the place of a waiting call.
type place struct {
	vendor string
	in     chan struct{} // closed when it may run
}

// WithQueue makes a queue: so many calls at a time in all, and so many at vendors; 0 and absent are any
// number.
func WithQueue(all int, each map[string]int) *Queue {
	return &Queue{all: all, each: each, at: map[string]int{}}
}

// At puts a vendor's calls into the queue.
func (q *Queue) At(vendor string, next llm.Provider) llm.Provider {
	return llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		return func(yield func(llm.Event) bool) {
			if err := q.enter(ctx, vendor); err != nil {
				yield(llm.Fail(err))
				return
			}
			defer q.leave(vendor)
			next.Stream(ctx, r)(yield)
		}
	})
}

func (q *Queue) enter(ctx context.Context, vendor string) error {
	if ctx.Err() != nil {
		return llm.Ended(ctx)
	}
	q.mu.Lock()
	p := &place{vendor, make(chan struct{})}
	q.waiting = append(q.waiting, p)
	q.admit()
	q.mu.Unlock()
	select {
	case <-p.in:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, p); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else { // it was let in meanwhile
		q.out(vendor)
	}
	return llm.Ended(ctx)
}

func (q *Queue) leave(vendor string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out(vendor)
}

func (q *Queue) out(vendor string) {
	q.running--
	q.at[vendor]--
	q.admit()
}

// admit lets in who may run, oldest first; the caller has the mutex.
func (q *Queue) admit() {
	q.waiting = slices.DeleteFunc(q.waiting, func(p *place) bool {
		most, limited := q.each[p.vendor]
		if q.all > 0 && q.running >= q.all || limited && q.at[p.vendor] >= most {
			return false
		}
		q.running++
		q.at[p.vendor]++
		close(p.in)
		return true
	})
}

package loop

import (
	"context"
	"errors"
	"sync"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// Reader makes a conversation of entries while others are still on their way from
// the store: a long history is read by two at once. What takes a blob waits until
// all are there, and all behind it, so that nothing else is asked of the store
// meanwhile.
type Reader struct {
	talk    Conversation
	short   map[id.Message]bool
	room    int // items of the next segment
	filling []history.Entry
	later   []waiting // from the first that takes a blob on; the worker's, and then Conversation's

	mu      sync.Mutex // of what follows
	full    [][]history.Entry
	empty   [][]history.Entry
	busy    bool
	working sync.WaitGroup
}

// waiting is an entry that is not in the conversation yet: read, or to be read with its blob.
type waiting struct {
	item  item
	entry *history.Entry
}

// batchSize is the number of entries for which the other goroutine is woken.
const batchSize = 128

// NewReader makes a reader of the context that the outline tells of.
func NewReader(o *history.Outline) *Reader {
	return &Reader{talk: Conversation{shaped: o.Shaped(), last: o.Shaped()}, short: o.Short(), room: 2 * batchSize}
}

// Take takes the next entry of the context.
func (r *Reader) Take(e history.Entry) {
	if r.filling = append(r.filling, e); len(r.filling) < batchSize {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = append(r.full, r.filling)
	if n := len(r.empty); n > 0 {
		r.filling, r.empty = r.empty[n-1], r.empty[:n-1]
	} else {
		r.filling = make([]history.Entry, 0, batchSize)
	}
	if !r.busy {
		r.busy = true
		r.working.Go(r.work)
	}
}

// work reads what is there. It ends with that, so that nothing waits for entries which do not come.
func (r *Reader) work() {
	for {
		r.mu.Lock()
		if r.busy = len(r.full) > 0; !r.busy {
			r.mu.Unlock()
			return
		}
		batch := r.full[0]
		r.full = r.full[1:]
		r.mu.Unlock()
		r.read(batch)
		clear(batch)
		r.mu.Lock()
		r.empty = append(r.empty, batch[:0])
		r.mu.Unlock()
	}
}

var errLater = errors.New("its content is a blob")

func (r *Reader) read(batch []history.Entry) {
	later := func(context.Context, chain.Hash) ([]byte, error) { return nil, errLater }
	for i := range batch {
		it, err := readEntry(context.Background(), batch[i], later)
		switch {
		case err != nil: // also what only the real blob can tell
			e := batch[i]
			r.later = append(r.later, waiting{entry: &e})
		case len(r.later) > 0:
			r.later = append(r.later, waiting{item: it})
		default:
			r.push(it)
		}
	}
}

// push takes an item into the conversation. Each segment of it has room for as much as all before: nothing
// is copied while it grows. Where results may still be put into what is settled, it stays in one piece.
func (r *Reader) push(it item) {
	if r.short[it.id] && it.kind != history.Compact {
		it = shortenItem(it)
	}
	own := &r.talk.own
	if len(own.items) == cap(own.items) && !r.talk.loose {
		r.talk.freeze()
		own.items, own.out = make([]item, 0, r.room), make([]llm.Message, 0, r.room+r.room/8)
		r.room *= 2
	}
	r.talk.push(it)
	r.talk.last = max(r.talk.last, it.id)
}

// Conversation returns the conversation of all entries taken so far. It is called once.
func (r *Reader) Conversation(ctx context.Context, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	r.working.Wait()
	if r.talk.Len() == 0 { // it is short
		r.room = max(1, len(r.filling)+len(r.filling)/8)
	}
	r.read(r.filling)
	for _, w := range r.later {
		if w.entry != nil {
			var err error
			if w.item, err = readEntry(ctx, *w.entry, blob); err != nil {
				return nil, err
			}
		}
		r.push(w.item)
	}
	talk := r.talk // without what was needed to read it
	talk.blob = blob
	return &talk, nil
}

package loop

import (
	"context"
	"errors"
	"sync"

	"ramet/internal/chain"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
)

// Reader makes a conversation of entries while others are still on their way from
// the store: a long history is read by two at once. What takes a blob waits until
// all are there, so that nothing else is asked of the store meanwhile.
type Reader struct {
	batches []*batch
	filling *batch
	n       int
	working sync.WaitGroup
}

// batchSize is how many entries are worth a goroutine.
const batchSize = 512

type batch struct {
	entries []history.Entry
	items   []item
	errs    []error // nil: there was none in it
}

// NewReader makes a reader.
func NewReader() *Reader { return &Reader{} }

// Take takes the next entry of the context.
func (r *Reader) Take(e history.Entry) {
	if r.filling == nil {
		r.filling = &batch{}
		if r.n > 0 { // many follow, or none
			r.filling.entries = make([]history.Entry, 0, batchSize)
		}
		r.batches = append(r.batches, r.filling)
	}
	b := r.filling
	b.entries = append(b.entries, e)
	r.n++
	if len(b.entries) == batchSize {
		r.filling = nil
		r.working.Go(b.read)
	}
}

var errLater = errors.New("its content is a blob")

func (b *batch) read() {
	later := func(context.Context, chain.Hash) ([]byte, error) { return nil, errLater }
	b.items = make([]item, len(b.entries))
	for i := range b.entries {
		it, err := read(context.Background(), b.entries[i], later)
		if err != nil { // also what only the real blob can tell
			if b.errs == nil {
				b.errs = make([]error, len(b.entries))
			}
			b.errs[i] = err
			continue
		}
		b.items[i], b.entries[i] = it, history.Entry{}
	}
}

// Conversation is that of everything that was taken; the outline is of the same
// context. It is called once.
func (r *Reader) Conversation(ctx context.Context, o *history.Outline, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	if r.filling != nil {
		r.filling.read()
	}
	r.working.Wait()
	out := &Conversation{blob: blob, shaped: o.Shaped()}
	short := o.Short()
	out.last = out.shaped
	out.own.items = make([]item, 0, r.n+r.n/8)
	out.own.out = make([]llm.Message, 0, cap(out.own.items))
	var newest id.Message
	for _, b := range r.batches {
		for i, it := range b.items {
			if b.errs != nil && b.errs[i] != nil {
				var err error
				if it, err = read(ctx, b.entries[i], blob); err != nil {
					return nil, err
				}
			}
			if short[it.id] && it.kind != history.Compact {
				it = shorten(it)
			}
			out.push(it)
			newest = max(newest, it.id)
		}
		b.items, b.entries = nil, nil
	}
	out.last = max(out.last, newest)
	return out, nil
}

package decorate

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"ramet/internal/model/llm"
)

// RetryOptions configure retries; zero values are the defaults.
type RetryOptions struct {
	Attempts int           // in all; 5
	First    time.Duration // the first wait; 500 ms. It doubles each time
	Most     time.Duration // the longest wait; 30 s
	// Patience is the longest wait that a server may ask for; 2 min. If it asks
	// for more, the call has failed.
	Patience time.Duration
	Random   func() float64 // in [0, 1)
}

type retryProvider struct {
	next llm.Provider
	RetryOptions
	reached atomic.Bool // somebody answered, well or not
}

// WithRetry puts patience around a provider.
func WithRetry(next llm.Provider, o RetryOptions) llm.Provider {
	if o.Attempts <= 0 {
		o.Attempts = 5
	}
	if o.First <= 0 {
		o.First = 500 * time.Millisecond
	}
	if o.Most <= 0 {
		o.Most = 30 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &retryProvider{next: next, RetryOptions: o}
}

func (p *retryProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		for attempt := 1; ; attempt++ {
			failed, over := p.attempt(ctx, r, yield)
			if over {
				return
			}
			wait, of, again := p.wait(ctx, failed.Err, attempt)
			if !again {
				yield(failed)
				return
			}
			notice := llm.Attempt{Number: attempt, Of: of, Wait: wait, Err: failed.Err}
			if !yield(llm.Event{Type: llm.Retry, Retry: notice}) {
				return
			}
			if !waitFor(ctx, wait) {
				yield(llm.Fail(llm.Ended(ctx)))
				return
			}
		}
	}
}

// attempt passes on one attempt. It holds a failure back as long as nothing of
// the answer was shown; else it is over.
func (p *retryProvider) attempt(ctx context.Context, r llm.Request, yield func(llm.Event) bool) (failed llm.Event, over bool) {
	shown := false
	for e := range p.next.Stream(ctx, r) {
		p.notice(&e)
		if e.Type == llm.Failed && !shown {
			return e, false
		}
		shown = shown || e.Content()
		if !yield(e) || e.Terminal() {
			return e, true
		}
	}
	cut := llm.Fail(llm.Cut(nil))
	if shown {
		yield(cut)
	}
	return cut, shown
}

// wait returns how long to wait before the next attempt, if there is to be one, and of how many; 0: of as
// many as it takes.
func (p *retryProvider) wait(ctx context.Context, err error, attempt int) (wait time.Duration, of int, again bool) {
	why, ok := errors.AsType[*llm.Failure](err)
	if !ok || !why.Again {
		return 0, 0, false
	}
	of = p.Attempts
	switch {
	case p.endless(ctx, why):
		of = 0
	case attempt >= p.Attempts || why.After > p.Patience:
		return 0, 0, false
	}
	wait = p.First
	for range min(attempt-1, 32) {
		wait = min(2*wait, p.Most)
	}
	// Half of it at least, so that a server has time; not the same for all.
	wait = wait/2 + time.Duration(p.Random()*float64(wait/2))
	return max(wait, why.After), of, true
}

func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}

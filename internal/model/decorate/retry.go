// Package decorate wraps llm.Provider with what every vendor needs. Package dial stacks the decorators:
//
//   - WithRecord calls a Recorder with every call: a hash of the request, usage, cost, duration and end. It
//     is outside of retries, so one call is one record. The record is made before the terminal event is
//     passed on; if that fails, the call has failed. A consumer that breaks off leaves a record too.
//   - WithResume continues an answer that a vendor paused, as some do after web searches. The caller sees
//     one answer with the tokens of all requests. A vendor that pauses without output, or for ever, has
//     cut the answer.
//   - WithRetry repeats calls that failed for a temporary reason, with backoff, jitter and the server's
//     Retry-After, and reports each as a Retry event. It repeats only while nothing of an answer was
//     shown, and at most RetryOptions.Attempts times, except for calls made Patiently.
//   - WithStructured asks again without the schema where a vendor refused it, and does not send that model
//     a schema again.
//   - WithSight replaces images and documents by a sentence for models and protocols that cannot read
//     them, and asks once more without them where a vendor refused.
//   - WithQueue limits how many calls run at the same time, in all and for each vendor, first come, first
//     served. A call that waits for a busy vendor does not delay those to others.
//
// All of them stop at once when the context ends.
package decorate

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
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
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.First = cmp.Or(o.First, 500*time.Millisecond)
	o.Most = cmp.Or(o.Most, 30*time.Second)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
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
			if !llm.Sleep(ctx, wait) {
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

type patientKey struct{}

// Patiently returns ctx for calls without a person at a terminal: a vendor that has too much to do,
// and a network that was lost, are waited for as long as ctx lasts.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

// endless reports whether a failure is waited for however long it takes: the vendor says that it will
// pass, or it was reached before and is not any more. An address that never answered is
// a mistake sooner than a loss.
func (p *retryProvider) endless(ctx context.Context, why *llm.Failure) bool {
	if patient, _ := ctx.Value(patientKey{}).(bool); !patient || !why.Again {
		return false
	}
	switch why.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, 529:
		return true
	}
	return why.Status == 0 && p.reached.Load()
}

// notice remembers that the vendor was reached.
func (p *retryProvider) notice(e *llm.Event) {
	answered := e.Content()
	if e.Type == llm.Failed {
		why, ok := errors.AsType[*llm.Failure](e.Err)
		answered = ok && why.Status != 0
	}
	if answered && !p.reached.Load() { // all streams look at it, with every word
		p.reached.Store(true)
	}
}

// most limits how often an answer is resumed.
const most = 8

type resumeProvider struct{ next llm.Provider }

// WithResume puts it around a provider.
func WithResume(next llm.Provider) llm.Provider { return resumeProvider{next} }

func (p resumeProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		a := answer{asked: r}
		for range most {
			if !a.listen(p.next.Stream(ctx, a.request()), yield) {
				return
			}
		}
		yield(a.cut())
	}
}

// answer is the answer so far.
type answer struct {
	asked llm.Request
	parts []llm.Part
	used  llm.Usage // by the requests before this one
	now   llm.Usage // by this one
	begin int       // index of its first part
	next  int       // behind its last one
	pause llm.Finish
}

// request returns what is asked next: the same, with what was said.
func (a *answer) request() llm.Request {
	r := a.asked
	if len(a.parts) == 0 {
		return r
	}
	r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], llm.Message{Role: llm.Assistant, Parts: a.parts})
	if r.MaxTokens > 0 {
		r.MaxTokens -= a.used.Output
	}
	return r
}

// listen passes events on, and reports whether the answer is to be continued.
func (a *answer) listen(stream iter.Seq[llm.Event], yield func(llm.Event) bool) bool {
	before := len(a.parts)
	for e := range stream {
		switch {
		case e.Type == llm.Used:
			a.now = *e.Usage
			all := a.used.Plus(a.now)
			e.Usage = &all
		case e.Content():
			e.Index += a.begin
			a.next = max(a.next, e.Index+1)
			if e.Type == llm.Done {
				a.parts = append(a.parts, *e.Part)
			}
		case e.Type == llm.Finished && e.Finish.Reason == llm.Paused:
			a.used, a.now, a.begin, a.pause = a.used.Plus(a.now), llm.Usage{}, a.next, e.Finish
			spent := a.asked.MaxTokens > 0 && a.used.Output >= a.asked.MaxTokens
			if len(a.parts) == before || spent {
				yield(a.cut())
				return false
			}
			return true
		}
		if !yield(e) || e.Terminal() {
			return false
		}
	}
	return false // a stream without an end: who is around it says so
}

// cut returns the end of an answer that is not gone on with.
func (a *answer) cut() llm.Event {
	return llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Length, Raw: a.pause.Raw}}
}

package decorate

import (
	"context"
	"iter"

	"ramet/internal/model/llm"
)

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

// listen passes events on, and says whether the answer is to be gone on with.
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

package loop

import (
	"context"
	"iter"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
)

// A vendor that has too much to do is waited for where nobody is there; but not while another model
// can take over.
func TestWhoIsWaitedFor(t *testing.T) {
	busy := func(times int) (llm.Provider, *int) {
		n := 0
		return decorate.WithRetry(llm.Func(func(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
			return func(yield func(llm.Event) bool) {
				if n++; n <= times {
					yield(llm.Fail(fault.New(fault.ProviderRateLimit, "busy: %w", &llm.Failure{Status: 429, Again: true})))
					return
				}
				yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "at last"}})
				yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
			}
		}), decorate.RetryOptions{Attempts: 2, First: 1, Most: 1}), &n
	}
	s := newStage(t, ``)
	var asked *int
	s.turn.Provider, asked = busy(30)
	if out := s.must(); out.Text != "at last" || *asked != 31 {
		t.Errorf("%+v after %d", out, *asked)
	}
	s = newStage(t, ``)
	s.turn.Limits.Attended = true
	s.turn.Provider, asked = busy(30)
	if _, err := s.run(t.Context()); !fault.Is(err, fault.ProviderRateLimit) || *asked != 2 {
		t.Errorf("somebody is there: %v after %d", err, *asked)
	}
	s = newStage(t, `{"steps": [{"text": "instead"}]}`)
	other := s.turn.Provider
	s.turn.Provider, asked = busy(30)
	s.turn.Others = []Alternative{{Ref: llm.Ref{Vendor: "script", Name: "y"}, Provider: other}}
	if out := s.must(); out.Text != "instead" || *asked != 2 {
		t.Errorf("%+v after %d", out, *asked)
	}
}

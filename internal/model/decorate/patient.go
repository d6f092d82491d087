package decorate

import (
	"context"
	"errors"
	"net/http"

	"ramet/internal/model/llm"
)

type patientKey struct{}

// Patiently is ctx for calls that nobody waits for at a terminal: a vendor that has too much to do,
// and a network that was lost, are waited for as long as ctx lasts.
func Patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

// endless reports whether a failure is waited for however long it takes: the vendor says that it will
// pass, or it was reached before and is not any more. An address at which nobody ever answered is
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

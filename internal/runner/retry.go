package runner

import (
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// again are the codes of failures that another attempt may not meet: something was
// busy, cut off or too slow, or a model gave a wrong answer.
var again = map[fault.Code]bool{
	fault.Failed: true, fault.TimedOut: true, fault.LoopDetected: true, fault.OutputInvalid: true, fault.Killed: true,
	fault.Locked: true, fault.Leased: true, fault.StorageUnreachable: true,
	fault.ProviderRateLimit: true, fault.ProviderOverloaded: true, fault.ProviderUnreachable: true, fault.ProviderProtocol: true,
	fault.StreamCut: true, fault.Interrupted: true,
}

// Retryable reports whether the work may be tried again as it is: what failed was the
// attempt, and not the task. Nothing that was refused, is not permitted, cannot be paid
// or has not its form gets better by itself.
func Retryable(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*final](err); ok {
		return false
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok && f.Again {
		return true
	}
	return again[fault.CodeOf(err)]
}

// Final marks an error as one that another attempt would meet again, or must not risk:
// what acts outside the run and failed is not tried again by itself.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return &final{err}
}

// WithAnswer keeps an answer with the reason why it was refused: the next
// attempt is shown it.
func WithAnswer(err error, answer string) error {
	if err == nil || answer == "" {
		return err
	}
	return &refused{err, answer}
}

// RefusedAnswer returns the refused answer of an error.
func RefusedAnswer(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.answer
	}
	return ""
}

type refused struct {
	err    error
	answer string
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

type final struct{ err error }

func (f *final) Error() string { return f.err.Error() }
func (f *final) Unwrap() error { return f.err }

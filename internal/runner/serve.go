package runner

import (
	"context"
	"time"

	"ramet/internal/base/fault"
)

// deliverTime limits how long a worker that was stopped may take to report that.
const deliverTime = 5 * time.Second

// ServeAttempt does one attempt: it claims it, has it done, and delivers. One that is not current
// any more is no error: nothing is left to do.
func ServeAttempt(ctx context.Context, j Enqueued, host string, d Orchestrator, s Executor) error {
	it, err := d.Claim(ctx, j.ID, host)
	if fault.Is(err, fault.Fenced) {
		return nil
	}
	if err != nil {
		return err
	}
	// It may be the lease of its agent that was lost, on a machine that had no time: the orchestrator waits for
	// this attempt then, and is told. Where it does not, it refuses.
	result, err := s.Do(ctx, it, d)
	say, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliverTime)
	if ctx.Err() == nil {
		cancel()
		say, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	err = d.Deliver(say, it.ID, result, describeFailure(ctx, it, err))
	if fault.Is(err, fault.Fenced) {
		return nil
	}
	return err
}

// describeFailure returns an error as the orchestrator receives it.
func describeFailure(ctx context.Context, it Attempt, err error) *Failure {
	if err == nil {
		return nil
	}
	lost := ctx.Err() != nil || fault.Is(err, fault.Fenced)
	f := &Failure{Code: string(fault.CodeOf(err)), Message: errorMessage(err), Retryable: Retryable(err), Answer: RefusedAnswer(err)}
	switch {
	case fault.Is(err, fault.UnknownOutcome):
		f.Unknown, f.Retryable = true, false
	case lost && it.Task.External && it.Task.Uses != "":
		// A built-in looks first; commands report an unknown outcome themselves.
		f.Code, f.Unknown, f.Retryable = string(fault.UnknownOutcome), true, false
	case lost:
		f.Code, f.Retryable = string(fault.Interrupted), true
	}
	return f
}

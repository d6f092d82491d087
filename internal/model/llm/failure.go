package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ramet/internal/base/fault"
)

// Failure describes a call that failed; errors.As finds it in the
// fault.
type Failure struct {
	Status int           // of HTTP; 0 where there was no answer
	Kind   string        // the vendor's word for it, such as overloaded_error
	Says   string        // the vendor's message
	Param  string        // the member of the request that it is about, where the vendor says so
	Again  bool          // the same request may succeed later
	After  time.Duration // and not before; 0 where the vendor does not say
	Err    error         // the cause; may be nil
}

// Error returns the vendor's message, or the status.
func (f *Failure) Error() string {
	switch {
	case f.Says != "":
		return f.Says
	case f.Err != nil:
		return f.Err.Error()
	}
	return fmt.Sprintf("status %d", f.Status)
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Ended returns the fault of a call whose context ended.
func Ended(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.TimedOut, "ask model: the time allowed ran out: %w", err)
	}
	return fault.New(fault.Cancelled, "ask model: cancelled: %w", err)
}

// Cut returns the fault of a stream that stopped without a reason.
func Cut(cause error) error {
	f := &Failure{Says: "the connection ended before the answer did", Again: true, Err: cause}
	if cause != nil {
		f.Says += ": " + cause.Error()
	}
	return fault.New(fault.StreamCut, "read answer: %w", f).
		WithHint("what came so far is no answer; ask again")
}

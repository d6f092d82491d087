package llm

import (
	"context"
	"iter"
)

// Provider answers requests. Adapters and decorators implement it.
type Provider interface {
	// Stream asks a model and yields what happens, as it happens.
	//
	// The call is made when the iterator is ranged over, once for each time. The
	// last event is Finished or Failed, there is exactly one of these, and nothing
	// follows it; only a consumer that breaks off sees none. Before it, Done
	// brings every part of the message in order; the deltas of a part, joined, are
	// its text or, for a call, its arguments. Each Used replaces the one before.
	// The first event of a call that left this process is Sent, again for each
	// attempt.
	//
	// Err of Failed is a fault: PROVIDER_…, STREAM_CUT, or CANCELLED or TIMEOUT
	// when ctx ended. A Failure in its chain says whether the call may be
	// repeated. When ctx ends or the consumer breaks off, the connection is shut
	// at once, and nothing of the call runs on.
	//
	// The request is not changed, and must not be while the stream runs. Calls may
	// run concurrently.
	Stream(ctx context.Context, r Request) iter.Seq[Event]
}

// Func makes a provider of a function.
type Func func(ctx context.Context, r Request) iter.Seq[Event]

// Stream calls f.
func (f Func) Stream(ctx context.Context, r Request) iter.Seq[Event] { return f(ctx, r) }

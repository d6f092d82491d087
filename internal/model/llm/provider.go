// Package llm defines how ramet talks to models of all vendors: Message, Request, the stream of Events that
// answers it, and Provider, the port that every vendor implements. It also makes images and documents fit
// for a model.
//
// # The stream
//
// A call is an iterator. Everything that happens comes through it, failures included, and it ends with
// exactly one terminal event: Finish, or Failed. A stream that stops without one was cut, which is a
// failure (STREAM_CUT) and never an answer: none of its tool calls is passed on.
//
// Deltas are for screens. Done brings one whole part, in the order of the message, with its signature. The
// message is the list of its Done parts; Collect makes it.
//
// # Thinking, and what vendors keep in it
//
// Vendors sign or encrypt what a model thought and demand it back unchanged. A Part keeps that in Signature
// and Opaque, with Origin, the protocol that can read it. An adapter sends both back byte for byte where the
// origin is its own, and leaves foreign thinking out, so that a history can move from one vendor to another.
//
// # Tokens and money
//
// Usage counts each token once: Input is what was read neither from nor into a cache. Vendors count
// otherwise, and adapters convert. Totals are computed here. Money is whole nano-dollars, so that sums do not
// drift.
//
// # Pictures
//
// The type of a file follows from its first bytes. FitPicture returns PNG, JPEG or WebP within the size that
// every vendor accepts; what fits already is unchanged. An image is decoded whole, because a vendor that
// refuses a damaged one would refuse the conversation from then on. A GIF becomes its first frame, a photo is
// rotated as its camera says, and memory is bounded whatever a header claims.
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

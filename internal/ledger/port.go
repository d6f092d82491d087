package ledger

import "context"

// Book is where those who start sub-agents record them: the kernel, and runs. All
// methods return when it is durable, may be called from many goroutines, and other
// processes may use the same book.
type Book interface {
	// Spawn registers a sub-agent before it starts; it must not start if this fails.
	// CONFLICT: the id is live.
	Spawn(ctx context.Context, st Start) (Entry, error)
	// Finish records how it ended: Completed, Failed or Timeout. Twice the same is
	// nothing. NOT_FOUND; ILLEGAL_TRANSITION if it has ended otherwise, or is
	// interrupted and the end is not Failed.
	Finish(ctx context.Context, id string, how Status, reason string) (Entry, error)
	// Ended is Finish with Completed for an end that nobody waits for: it is written together with
	// the next change, soon by itself if there is none, and at once when hurry is closed.
	Ended(ctx context.Context, id string, hurry <-chan struct{}) error
	// Interrupt records that it stopped in the middle and can be resumed.
	Interrupt(ctx context.Context, id string, reason string) (Entry, error)
	// Resume registers the one that goes on for another, which must be interrupted,
	// or spawned with a dead owner or past its time.
	Resume(ctx context.Context, old string, st Start) (Entry, error)
}

package ledger

import "context"

// Book records sub-agents for the kernel and for runs. All methods return when the change is durable and are safe for
// concurrent use; other processes may use the same book.
type Book interface {
	// Spawn registers a sub-agent before it starts; it must not start if this fails.
	// CONFLICT: the id is live.
	Spawn(ctx context.Context, st Start) (Entry, error)
	// Finish records how it ended: Completed, Failed or Timeout. The same end twice changes nothing. NOT_FOUND; ILLEGAL_TRANSITION if it has ended otherwise, or is
	// interrupted and the end is not Failed.
	Finish(ctx context.Context, id string, how Status, reason string) (Entry, error)
	// Interrupt records that it stopped in the middle and can be resumed.
	Interrupt(ctx context.Context, id string, reason string) (Entry, error)
	// Resume registers a sub-agent that continues another, which must be interrupted, or spawned with a dead owner or
	// past its time.
	Resume(ctx context.Context, old string, st Start) (Entry, error)
}

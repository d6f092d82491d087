package kernel

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/turn/loop"
)

// Foreign is another program that drives agents (package driver).
type Foreign interface {
	// Run carries out one turn as loop.Run does; of the turn it uses the journal, the guard,
	// the budget, the files, the barrier and the events.
	Run(ctx context.Context, a agent.Agent, t loop.Turn, c *loop.Conversation) (loop.Outcome, error)
}

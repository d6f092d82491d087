package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// Stop is the request that a turn ends.
type Stop struct {
	Agent id.Agent
	// Ticket identifies a prompt (Prompt.Ticket) to cancel, whether it waits or comes later; if empty, only the current turn
	// is stopped.
	Ticket string
	Also   []string // tickets of further prompts
}

// Interrupt stops the turn of an agent, if there is one, and returns when it is over:
// nothing of it runs, and its history says so. Prompts that wait go on waiting, but for the
// those that are taken back. false: there was nothing to stop.
func (k *Kernel) Interrupt(ctx context.Context, s Stop) (bool, error) {
	withdrawn := k.Withdraw(append([]string{s.Ticket}, s.Also...)...)
	stopped, err := k.end(ctx, s.Agent, loop.Stopped(history.ActorOf(ctx), errInterrupted()))
	return stopped || len(withdrawn) > 0, err
}

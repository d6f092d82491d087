package control

import (
	"context"
	"time"

	"ramet/internal/base/fault"
)

// kernelEndWait limits the end of a kernel: agents that work get time to write what they did.
const kernelEndWait = 30 * time.Second

// AwaitEnd returns when no kernel holds the lock. TIMEOUT: it did not end within 30 s.
func (p Place) AwaitEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, kernelEndWait)
	defer cancel()
	for p.Alive() {
		select {
		case <-time.After(dialEvery):
		case <-ctx.Done():
			return fault.New(fault.TimedOut, "the background kernel did not end within %s", kernelEndWait)
		}
	}
	return nil
}

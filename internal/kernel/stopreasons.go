package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
)

// errStopped is the cause of turns that end because their kernel stops.
var errStopped = sync.OnceValue(func() *fault.Error { return fault.New(fault.Interrupted, "the kernel was stopped") })

// errKilled is the cause of turns of a killed agent.
var errKilled = sync.OnceValue(func() *fault.Error { return fault.New(fault.DeadAgent, "the agent was killed") })

// errWithdrawn is the result of a prompt that was cancelled before it was sent.
var errWithdrawn = sync.OnceValue(func() *fault.Error {
	return fault.New(fault.Cancelled, "withdrawn before its turn began; nothing was sent")
})

// errInterrupted is the cause of a turn that was interrupted.
var errInterrupted = sync.OnceValue(func() *fault.Error { return fault.New(fault.Cancelled, "stopped by the user") })

// lastWords limits the time in which a stopped turn closes its history.
const lastWords = 5 * time.Second

// linger is a context for writing that outlives ctx by a little.
func linger(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-out.Done():
		case <-time.After(lastWords):
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

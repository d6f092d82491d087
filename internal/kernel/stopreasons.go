package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/fault"
)

// errStopped is why turns end when their kernel does.
var errStopped = sync.OnceValue(func() *fault.Error { return fault.New(fault.Interrupted, "the kernel was stopped") })

// errKilled is why the turns of a killed agent end.
var errKilled = sync.OnceValue(func() *fault.Error { return fault.New(fault.DeadAgent, "the agent was killed") })

// errWithdrawn is how a prompt ends that was taken back before it was said.
var errWithdrawn = sync.OnceValue(func() *fault.Error {
	return fault.New(fault.Cancelled, "taken back before its turn began; nothing was said")
})

// errInterrupted is why a turn ends that somebody stops.
var errInterrupted = sync.OnceValue(func() *fault.Error { return fault.New(fault.Cancelled, "stopped by the user") })

// lastWords is how long a turn that was stopped may take to close its history.
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

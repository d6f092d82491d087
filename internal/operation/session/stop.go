package session

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
)

// Stop ends the turn of an agent, wherever it runs, and returns when it is over: nothing is
// read from the model any more, no command runs, and the history says so. It is the one
// way for every face: a key, a button, HTTP. A prompt of that ticket that was not said yet is
// taken back. It reports whether there was something to stop.
//
// The kernel of another process is told by a ring: on its socket, or through the database where it is another host's.
// If that one does not stop in time, or nothing reaches it, the error says so.
func (w Turns) Stop(ctx context.Context, s kernel.Stop) (bool, error) {
	stopped := false
	if w.ws.Kernel != nil {
		var err error
		if stopped, err = w.ws.Kernel.Interrupt(ctx, s); err != nil {
			return stopped, err
		}
	}
	lease, holds, err := agent.FindHolder(ctx, w.ws.Store, s.Agent, w.ws.Peers.Gone)
	if err != nil || !holds || lease.Owner == w.ws.owner() {
		return stopped, err
	}
	stop := w.stopFar
	if w.ws.Peers.Near(lease.Owner) {
		stop = w.stopNear
	}
	there, err := stop(ctx, s.Agent, lease.Owner)
	return stopped || there, err
}

// stopNear rings for a kernel of this machine, which answers when the turn is over.
func (w Turns) stopNear(ctx context.Context, a id.Agent, holder string) (bool, error) {
	doing, err := w.ws.Peers.AskStates(ctx, holder)
	if err != nil || !doing[a].Busy() {
		return false, err
	}
	return true, w.ws.Peers.Notify(ctx, holder, registry.Ring{Agent: a, What: registry.RingStop})
}

// farTime limits the wait for a kernel of another host to stop: its tools have their
// ladder, and it may notice late.
const farTime = 10 * time.Second

// stopFar rings for the kernel of another host, and waits until it has let the agent go.
func (w Turns) stopFar(ctx context.Context, a id.Agent, holder string) (bool, error) {
	before, err := w.ws.Store.Agent(ctx, a)
	if err != nil || before.Lease.Owner != holder {
		return false, err
	}
	heard, err := w.ws.Store.Call(ctx, registry.Ring{Agent: a, What: registry.RingStop})
	if err != nil {
		return false, err
	}
	if !heard {
		return false, notReached(before, "nothing carries a word to another host from a file")
	}
	late := time.NewTimer(farTime)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := w.ws.Store.Agent(ctx, a)
		if err != nil {
			return false, err
		}
		if now.Lease.Owner != holder || now.Lease.Epoch != before.Lease.Epoch {
			return true, nil
		}
		select {
		case <-tick.C:
		case <-late.C:
			return false, notReached(before, "it was asked to stop, and did not within "+farTime.String())
		case <-ctx.Done():
			return false, llm.Ended(ctx)
		}
	}
}

func notReached(a agent.Agent, why string) error {
	return fault.New(fault.Leased, "agent %s is not stopped: it works in %s, another host; %s", a.Label(), a.Lease.Owner, why).
		WithHint("stop it there, or end it with `ramet kill %s`: then nothing of it is written any more", a.Label())
}

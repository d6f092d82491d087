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
// way, whoever asks: a key, a button, HTTP. A prompt of that ticket that was not said yet is
// taken back. false: there was nothing to stop.
//
// A kernel of another host is told through the database and is waited for; where it does
// not stop in time, or nothing can reach it, the error says so.
func (w Turns) Stop(ctx context.Context, s kernel.Stop) (bool, error) {
	stopped := false
	if w.ws.Kernel != nil {
		var err error
		if stopped, err = w.ws.Kernel.Interrupt(ctx, s); err != nil {
			return stopped, err
		}
	}
	lease, holds, err := agent.FindHolder(ctx, w.ws.Store, s.Agent, w.ws.Peers.Gone)
	if err != nil {
		return stopped, err
	}
	holder := ""
	if holds && lease.Owner != w.ws.owner() {
		holder = lease.Owner
	}
	if holder != "" && !w.ws.Peers.Near(holder) {
		return w.stopFar(ctx, s.Agent, holder)
	}
	there, err := w.stopNear(ctx, s, holder)
	return stopped || there, err
}

// stopNear asks the kernel that holds the agent and, for a prompt on its way, the one that
// serves the workspace.
func (w Turns) stopNear(ctx context.Context, s kernel.Stop, holder string) (bool, error) {
	stopped := false
	if holder != "" {
		other, err := w.ws.Peers.Dial(ctx, holder)
		if err != nil {
			return false, err
		}
		if stopped, err = other.Interrupt(ctx, s); err != nil {
			return stopped, err
		}
	}
	if s.Ticket == "" && len(s.Also) == 0 {
		return stopped, nil
	}
	server, err := w.ws.Peers.Serving(ctx)
	if server == nil || err != nil || server.Owner() == holder {
		return stopped, nil // the prompt is not there either
	}
	too, err := server.Interrupt(ctx, s)
	return stopped || too, err
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

package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// seen returns the visible state of a process.
func (d *doing) seen() state.State {
	switch {
	case d.now.Word == "" || d.elsewhere:
		return state.State{}
	case d.stopping:
		return state.State{Word: state.Working, Detail: state.Stopping}
	case d.asking > 0:
		tool := ""
		if n := len(d.calls); n > 0 {
			if tool = "for permission of " + d.calls[n-1].tool; d.calls[n-1].tool == "ask" {
				tool = "a question"
			}
		}
		return state.State{Word: state.Asks, Detail: tool}
	}
	return d.now
}

// becomes changes what a process does, and tells of it where that is seen.
func (p *agentProcess) becomes(change func(*doing)) {
	p.kernel.mu.Lock()
	change(&p.doing)
	now := p.doing.seen()
	fresh := now != p.doing.shown && now.Word != ""
	p.doing.shown = now
	p.kernel.mu.Unlock()
	if fresh { // a copy: now would be on the heap for every word
		p.kernel.Events.Publish(loop.Event{Type: loop.Became, Agent: p.id, State: new(now)})
	}
}

// end stops the turn of an agent for a reason and waits until it is over.
func (k *Kernel) end(ctx context.Context, a id.Agent, why error) (bool, error) {
	k.mu.Lock()
	var stop context.CancelCauseFunc
	var ended chan struct{}
	p := k.live[a]
	if p != nil {
		stop, ended = p.stop, p.ended
	}
	k.mu.Unlock()
	if stop == nil {
		return false, nil
	}
	p.becomes(func(d *doing) { d.stopping = true })
	stop(why)
	select {
	case <-ended:
		return true, nil
	case <-ctx.Done():
		return true, llm.Ended(ctx)
	}
}

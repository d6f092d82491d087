package runner

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// mourning is how often is looked whether the agent of a command was killed, here or elsewhere.
const mourning = 500 * time.Millisecond

// acting does an item that has no model in the name of an agent: it is in the registry and in the
// ledger while it is done, can be killed there, and is dead afterwards. It calls no model: it is no
// attempt that the tape knows.
func (c *Crew) acting(ctx context.Context, it Attempt, d Orchestrator, dir string, do func(context.Context, id.Agent) (Result, error)) (res Result, err error) {
	s := &crewAttempt{item: it, orchestrator: d, agent: id.NewAgent()}
	c.mu.Lock()
	c.runs[id.Agent(it.Agent)] = true
	c.mu.Unlock()
	defer func() {
		if broken := recover(); broken != nil {
			c.leave(ctx, s, fault.New(fault.Failed, "the item broke"))
			panic(broken)
		}
		if failed := c.leave(ctx, s, err); failed != nil && err == nil {
			res, err = Result{}, failed
		}
	}()
	if err := c.enter(ctx, s); err != nil {
		return res, err
	}
	if err := c.fork(ctx, s, dir); err != nil {
		return res, err
	}
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.mourn(ctx, s, end)
	}()
	res, err = do(ctx, s.agent)
	end(nil)
	<-over
	return res, err
}

// mourn ends the work of an agent that was killed.
func (c *Crew) mourn(ctx context.Context, s *crewAttempt, end context.CancelCauseFunc) {
	tick := time.NewTicker(mourning)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a, err := c.Store.Agent(ctx, s.agent); err == nil && agent.NeedLiving(a) != nil {
			end(fault.New(fault.Killed, "the agent of %s %s was killed", s.item.Worker, s.item.Scope))
			return
		}
	}
}

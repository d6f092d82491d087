package runner

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// killPoll is the interval between checks for a kill of a command's agent, here or elsewhere.
const killPoll = 500 * time.Millisecond

// runAsAgent does an item that has no model in the name of an agent: it is in the registry and in the
// ledger while it is done, can be killed there, and is dead afterwards. It calls no model.
func (c *WorkerPool) runAsAgent(ctx context.Context, it Attempt, d Orchestrator, dir string, do func(context.Context, id.Agent) (Result, error)) (res Result, err error) {
	s := &agentAttempt{item: it, orchestrator: d, agent: id.NewAgent()}
	c.mu.Lock()
	c.runs[id.Agent(it.Agent)] = true
	c.mu.Unlock()
	defer c.endWith(ctx, s, &res, &err)
	if err := c.recordStart(ctx, s); err != nil {
		return res, err
	}
	if err := c.fork(ctx, s, dir); err != nil {
		return res, err
	}
	ctx, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.watchForKill(ctx, s, end)
	}()
	res, err = do(ctx, s.agent)
	end(nil)
	<-over
	return res, err
}

// watchForKill ends the work of an agent that was killed.
func (c *WorkerPool) watchForKill(ctx context.Context, s *agentAttempt, end context.CancelCauseFunc) {
	tick := time.NewTicker(killPoll)
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

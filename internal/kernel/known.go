package kernel

import (
	"context"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
)

// known caches what a process read of its agent's history besides the conversation, so that a turn reads only new
// entries. It is derived from the entries, which never change, up to the one named here.
type known struct {
	task     *registry.Task // nil: not asked yet, or nobody has spoken to it yet
	effort   llm.Effort
	effortAt id.Message // the newest own entry when effort was what it is; 0: not asked yet
	idle     time.Time  // when its last turn was over; zero: there was none
}

// task returns how the agent's work began.
func (p *agentProcess) task(ctx context.Context) (registry.Task, error) {
	if p.known.task != nil {
		return *p.known.task, nil
	}
	task, told, err := registry.FirstTask(ctx, p.kernel.Store, p.id)
	if told {
		p.known.task = &task
	}
	return task, err
}

// effort returns the agent's reasoning effort. a is the agent as read under the lease.
func (p *agentProcess) effort(ctx context.Context, a agent.Agent) (told llm.Effort, err error) {
	if p.known.effortAt == 0 {
		told, _, err = registry.Effort(ctx, p.kernel.Store, a.ID)
	} else {
		told, err = registry.EffortSince(ctx, p.kernel.Store, a.ID, p.known.effort, p.known.effortAt)
	}
	if err == nil {
		p.known.effort, p.known.effortAt = told, a.Head
	}
	return told, err
}

// warmth returns what vendors' caches depend on: the tree whose agents share a beginning, and the time since the agent's
// last activity. It leaves out what can't be read: that costs money, not correctness.
func (p *agentProcess) warmth(ctx context.Context, a agent.Agent) (tree string, paused time.Duration) {
	if root, err := p.kernel.zero(ctx); err == nil {
		tree = "ramet-" + string(root)
	}
	if p.talk != nil && p.talk.Last() == a.Head && !p.known.idle.IsZero() {
		return tree, time.Since(p.known.idle)
	}
	if last, err := p.kernel.Store.Entry(ctx, a.Head); err == nil {
		paused = time.Since(last.CreatedAt)
	}
	return tree, paused
}

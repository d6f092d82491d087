package kernel

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/turn/loop"
)

// prepareForeign finds what a turn of another program needs.
func (p *agentProcess) prepareForeign(a agent.Agent, claim agent.Claim, j *job, m Model) (loop.Turn, error) {
	k := p.kernel
	if j.only != nil {
		return loop.Turn{}, fault.New(fault.Conflict, "%s keeps its context itself: there is nothing to compact here", m.Ref.Name).
			WithHint("fork it, or begin behind a clear")
	}
	if len(j.prompt.Schema) > 0 {
		return loop.Turn{}, fault.New(fault.Conflict, "no schema can be asked of %s", m.Ref.Name).WithHint("ask one of ramet's own agents")
	}
	j.foreign = func(ctx context.Context, t loop.Turn, c *loop.Conversation) (loop.Outcome, error) {
		return m.Foreign.Run(ctx, a, t, c)
	}
	if k.Told != nil {
		k.note(p.id, k.Told(a))
	}
	limits := k.Limits
	limits.Attended = j.family.attended
	out := loop.Turn{Agent: p.id, Ref: m.Ref, Model: m.Info, Journal: &journal{p, claim}, Guard: k.Guard, Budget: budget{k.reserver, p.id, p.notes},
		Limits: limits, Acting: p.acting, Clean: k.Clean, Emit: p.emit}
	if k.Files != nil {
		out.Files = k.Files(a)
	}
	return out, nil
}

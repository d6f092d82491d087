package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/registry"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// budget is the rest that an agent may spend: the least of its own budget and those of its ancestors, because each
// covers a subtree.
type budget struct {
	reserver *gateway.Reserver
	agent    id.Agent
	note     func(string)
}

// Left implements loop.Budget.
func (b budget) Left(ctx context.Context) error { return b.reserver.Left(ctx, b.agent) }

// Reserve implements loop.Budget.
func (b budget) Reserve(ctx context.Context, w loop.Worst) (loop.Reserved, error) {
	held, err := b.reserver.Reserve(ctx, gateway.Call{Agent: b.agent, Model: w.Model.String(), Input: w.Input, Output: w.Output, Least: w.Least,
		Price: w.Price, Priced: w.Priced, Search: w.Search})
	if err != nil {
		return loop.Reserved{}, err
	}
	return loop.Reserved{Output: held.Output, Bound: held.Bound, Settle: func(ctx context.Context) {
		if err := held.Settle(ctx); err != nil {
			b.note("what was set aside for a call counts as spent: " + err.Error())
		}
	}}, nil
}

// rest holds the amounts that an agent may still spend.
type rest struct {
	Tokens *int64     // nil: no limit
	Cost   *llm.Money // nil: no limit
}

// restOf is the least that the budgets of an agent and its ancestors leave.
func restOf(ctx context.Context, store registry.Budgets, a id.Agent) (rest, error) {
	var out rest
	limits, err := store.Allowances(ctx, a)
	for _, l := range limits {
		tokens, cost, bound, priced := l.Left()
		if bound && (out.Tokens == nil || tokens < *out.Tokens) {
			out.Tokens = &tokens
		}
		if money := llm.Money(cost); priced && (out.Cost == nil || money < *out.Cost) {
			out.Cost = &money
		}
	}
	return out, err
}

// notes tells whoever looks at the agent.
func (p *agentProcess) notes(what string) {
	p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: what})
}

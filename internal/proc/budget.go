package proc

import (
	"context"

	"ramet/internal/gateway"
	"ramet/internal/id"
	"ramet/internal/loop"
)

// budget is what an agent may still spend: the least that its own budget and those
// of its ancestors leave, for each covers everything below it.
type budget struct {
	purse *gateway.Purse
	agent id.Agent
	note  func(string)
}

// Left implements loop.Budget.
func (b budget) Left(ctx context.Context) error { return b.purse.Left(ctx, b.agent) }

// Reserve implements loop.Budget.
func (b budget) Reserve(ctx context.Context, w loop.Worst) (loop.Reserved, error) {
	held, err := b.purse.Reserve(ctx, gateway.Call{Agent: b.agent, Model: w.Model.String(), Input: w.Input, Output: w.Output, Least: w.Least,
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

// notes tells whoever looks at the agent.
func (p *process) notes(what string) {
	p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: what})
}

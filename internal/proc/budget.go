package proc

import (
	"context"
	"fmt"

	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/registry"
)

// budget is what an agent may still spend: the least that its own budget and those
// of its ancestors leave, for each covers everything below it.
type budget struct {
	store registry.Budgets
	agent id.Agent
}

func (p budget) Left(ctx context.Context) (loop.Allowance, error) {
	var left loop.Allowance
	limits, err := p.store.Allowances(ctx, p.agent)
	if err != nil {
		return left, err
	}
	for _, l := range limits {
		if rest, ok := l.Budget.Tokens.Left(l.Spent.Tokens); ok {
			if rest == 0 {
				limit, _ := l.Budget.Tokens.Get()
				return left, spent(l, fmt.Sprintf("%d of %d tokens", l.Spent.Tokens, limit))
			}
			if left.Tokens == nil || rest < *left.Tokens {
				left.Tokens = &rest
			}
		}
		if rest, ok := l.Budget.Cost.Left(l.Spent.Cost); ok {
			if rest == 0 {
				limit, _ := l.Budget.Cost.Get()
				return left, spent(l, fmt.Sprintf("%s of %s", llm.Money(l.Spent.Cost), llm.Money(limit)))
			}
			if money := llm.Money(rest); left.Cost == nil || money < *left.Cost {
				left.Cost = &money
			}
		}
	}
	return left, nil
}

func spent(l registry.Allowance, what string) error {
	return fault.New(fault.BudgetExceeded, "agent %s and those below it have used up their budget: %s", l.Of.Label(), what).
		WithHint("give more with --max-cost or --max-tokens, or stop here")
}

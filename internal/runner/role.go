package runner

import (
	"math"

	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// nano is the number of parts of a dollar that budgets count in.
const nano = 1e9

// agentEntries drafts what the agent of an item begins with: what it may not exceed, by its definition or because a
// program drives it, and the prompt of a definition. nil: nothing.
func agentEntries(t Task) ([]history.Draft, error) {
	var out []history.Draft
	if b := itemBudget(t); b != nil {
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: b}})
	}
	d := t.Role
	if d == nil {
		return out, nil
	}
	if d.Tools != nil {
		out = append(out, registry.LimitEntry(history.Limit{By: "agent " + d.Name, Tools: d.Tools}))
	}
	where := "the recipe"
	if d.From != "" {
		where = d.From
	}
	said, err := history.Say(history.System, "You are the agent "+d.Name+", defined in "+where+":\n\n"+d.Prompt)
	return append(out, said), err
}

// itemBudget returns the smaller of the budget that the definition allows and the one that the run has left;
// nil: no limit.
func itemBudget(t Task) *history.Budget {
	var tokens, cost int64
	least := func(a, b int64) int64 {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	nanos := func(dollars float64) int64 { return int64(math.Ceil(dollars * nano)) }
	if t.Role != nil {
		tokens, cost = t.Role.Tokens, int64(math.Round(t.Role.CostUSD*nano))
	}
	if t.Left != nil {
		tokens, cost = least(tokens, t.Left.Tokens), least(cost, nanos(t.Left.CostUSD))
	}
	out := &history.Budget{}
	if tokens > 0 {
		out.Tokens = &tokens
	}
	if cost > 0 {
		out.Cost = &cost
	}
	if *out == (history.Budget{}) {
		return nil
	}
	return out
}

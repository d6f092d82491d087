package crew

import (
	"math"

	"ramet/internal/history"
	"ramet/internal/registry"
	"ramet/internal/run/recipe"
)

// nano is how many parts of a dollar budgets count in.
const nano = 1e9

// begins drafts what the agent of an item begins with that is made by a definition: what it may
// not exceed, and what it is told first. nil: nothing.
func begins(d *recipe.Definition) ([]history.Draft, error) {
	if d == nil {
		return nil, nil
	}
	var out []history.Draft
	if d.Tokens > 0 || d.CostUSD > 0 {
		b := &history.Budget{}
		if d.Tokens > 0 {
			b.Tokens = &d.Tokens
		}
		if cost := int64(math.Round(d.CostUSD * nano)); cost > 0 {
			b.Cost = &cost
		}
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: b}})
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

package registry

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// BudgetCommand is the command of an entry that sets a budget, ModelCommand that
// of one that sets the model: from there on, and for the children born after it.
const (
	BudgetCommand = "budget"
	ModelCommand  = "model"
)

// ModelEntry records that an agent was told to use a model.
func ModelEntry(provider, model string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: ModelCommand, Provider: provider, Model: model}}
}

// Account brings an agent's spending, budget and model up to date with an entry
// that it wrote. Stores and the auditor share it.
func Account(a *agent.Agent, k history.Kind, m history.Meta) {
	switch {
	case k == history.Usage && m.Call != nil:
		a.Spent = a.Spent.Plus(agent.Spending{Tokens: m.Call.Tokens(), Cost: m.Call.Cost})
	case k == history.Command && m.Command == BudgetCommand && m.Budget != nil:
		a.Budget = agent.Budget{Tokens: agent.MaybeAtMost(m.Budget.Tokens), Cost: agent.MaybeAtMost(m.Budget.Cost)}
	case k == history.Fork && m.Name != nil, k == history.Command && m.Command == ModelCommand:
		a.Provider, a.Model = m.Provider, m.Model
	}
}

// most is the largest number that the canonical form of JSON keeps exactly.
const most = 1<<53 - 1

// checkAccount refuses entries that would falsify an account.
func checkAccount(d history.Draft) error {
	if c := d.Meta.Call; c != nil {
		if d.Kind != history.Usage {
			return fault.New(fault.InvalidEvent, "an entry of kind %s tells of no call of a model, usage does", d.Kind)
		}
		for _, n := range []int64{c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Reasoning, c.Cost, c.Asked, int64(c.Attempts), c.FirstMS, c.TookMS} {
			if err := checkCount("a call of "+c.Model, n); err != nil {
				return err
			}
		}
	}
	if sets := d.Kind == history.Command && d.Meta.Command == ModelCommand; sets && (d.Meta.Provider == "" || d.Meta.Model == "") {
		return fault.New(fault.InvalidEvent, "command %s must name a provider and a model", ModelCommand)
	}
	if err := checkEffort(d); err != nil {
		return err
	}
	if err := checkLimit(d); err != nil {
		return err
	}
	b := d.Meta.Budget
	if sets := d.Kind == history.Command && d.Meta.Command == BudgetCommand; sets != (b != nil) {
		return fault.New(fault.InvalidEvent, "an entry of kind %s and command %.40q cannot set a budget, and command %s must",
			d.Kind, d.Meta.Command, BudgetCommand)
	}
	if b == nil {
		return nil
	}
	for _, n := range []*int64{b.Tokens, b.Cost} {
		if n != nil {
			if err := checkCount("a budget", *n); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkCount(of string, n int64) error {
	if n < 0 || n > most {
		return fault.New(fault.InvalidEvent, "%.80s cannot count %d", of, n).WithHint("use a whole number from 0 to %d", most)
	}
	return nil
}

// Accounts hold the spending of an agent that another program drives, by its source.
type Accounts struct {
	Wire     *SpentBy // it went through ramet's gateway; nil: nothing did
	Reported *SpentBy // the program said so; nil: it said nothing
	Imported *SpentBy // before it was imported, as its file tells; nil: that tells nothing
}

// AccountsOf reads what an agent's own entries tell of calls of models by other programs.
func AccountsOf(ctx context.Context, log history.Log, a id.Agent) (out Accounts, err error) {
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Told: true}) {
		if err != nil {
			return out, err
		}
		m, err := e.Decode()
		if err != nil {
			return out, err
		}
		if e.Kind == history.Usage && (m.Call != nil || m.Brought()) {
			out.add(m)
		}
	}
	return out, nil
}

func (s *Accounts) add(m history.Meta) {
	if m.Wired() {
		s.Wire = s.Wire.plus(m.Call.Tokens(), m.Call.Cost)
	}
	switch d := m.Driver; {
	case d == nil || d.Used == nil:
	case m.Brought():
		s.Imported = s.Imported.plus(d.Used.Tokens(), d.Used.Cost)
	default:
		s.Reported = s.Reported.plus(d.Used.Tokens(), d.Used.Cost)
	}
}

package kernel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// surroundings holds what an agent passes on to its children.
type surroundings struct {
	model Model
	box   tool.Box
}

var _ acts.Places = verbs{}

// Facts implements acts.Places: what a child that knows nothing else is told of itself and
// the place.
func (h verbs) Facts(ctx context.Context, child agent.Agent) string {
	m := h.around.model
	if child.Provider != "" && child.Model != "" {
		if other, err := h.Model(child, m.Ref); err == nil {
			m = other
		}
	}
	return h.told(ctx, h.place(ctx, child), child, m, h.around.box, nil)
}

// Place returns what is known of the surroundings of an agent with this model and these tools.
type Place func(m Model, tools tool.Box) string

// place begins to look at the place of an agent; nil: nobody knows it.
func (k *Kernel) place(ctx context.Context, a agent.Agent) Place {
	if k.Options.Facts == nil {
		return nil
	}
	return k.Options.Facts(ctx, a)
}

// told returns the facts at the beginning of an agent's turn: its identity, its surroundings and the time. It is empty
// if the surroundings are unknown.
func (k *Kernel) told(ctx context.Context, place Place, a agent.Agent, m Model, box tool.Box, asked *history.Budget) string {
	if place == nil {
		return ""
	}
	here := place(m, box)
	if here == "" {
		return ""
	}
	return "[ramet] " + k.self(ctx, a) + "; model " + m.Ref.String() + windowOf(m) + k.means(ctx, a, asked) + ". " + here + "\n\n"
}

// self describes an agent: its name, its parent and its children.
func (k *Kernel) self(ctx context.Context, a agent.Agent) string {
	out := "You are " + a.Label()
	if a.IsZero() {
		return out
	}
	if short := a.ID.Short(); short != a.Label() {
		out += " (" + short + ")"
	}
	if parent, err := k.Store.Agent(ctx, a.Parent); err == nil {
		out += ", a child of " + parent.Label()
	}
	return out + fmt.Sprintf(", depth %d", a.Depth)
}

func windowOf(m Model) string {
	if m.Info.Context <= 0 {
		return ""
	}
	return fmt.Sprintf(", window %d tokens", m.Info.Context)
}

// means describes the budget and time that an agent has left; asked is the budget of this prompt. It leaves out what
// can't be read and what sets no limit.
func (k *Kernel) means(ctx context.Context, a agent.Agent, asked *history.Budget) string {
	of := a.ID
	if a.Genesis == 0 || asked != nil { // it is not born yet, or has no other budget of its own any more
		of = a.Parent
	}
	var left rest
	if of != "" {
		var err error
		if left, err = restOf(ctx, k.Store, of); err != nil {
			left = rest{} // the turn says what is wrong
		}
	}
	if asked != nil {
		spent, err := k.Store.Spent(ctx, a.ID) // with what those below it spent
		if err != nil {
			spent = a.Spent
		}
		left = within(left, *asked, spent)
	}
	var out []string
	if left.Tokens != nil {
		out = append(out, fmt.Sprintf("%d tokens", *left.Tokens))
	}
	if left.Cost != nil {
		out = append(out, left.Cost.String())
	}
	if until, ok := ctx.Deadline(); ok {
		out = append(out, time.Until(until).Round(time.Second).String())
	}
	if len(out) == 0 {
		return ""
	}
	return "; budget left: " + strings.Join(out, ", ")
}

// within returns the rest that also respects b.
func within(left rest, b history.Budget, spent agent.Spending) rest {
	if rest, ok := agent.MaybeAtMost(b.Tokens).Left(spent.Tokens); ok && (left.Tokens == nil || rest < *left.Tokens) {
		left.Tokens = &rest
	}
	if rest, ok := agent.MaybeAtMost(b.Cost).Left(spent.Cost); ok && (left.Cost == nil || llm.Money(rest) < *left.Cost) {
		money := llm.Money(rest)
		left.Cost = &money
	}
	return left
}

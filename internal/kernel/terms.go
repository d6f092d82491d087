package kernel

import (
	"context"
	"sync/atomic"

	"ramet/internal/base/id"
	"ramet/internal/turn/permit"
)

// Terms are the options of a command that hold for the turn of its prompt and for what the agents below do because of
// that turn, until they are withdrawn.
type Terms struct {
	Cwd        string // where tools work instead of in the agents' own folders; empty: there
	NoTools    bool   // without the tools that touch this machine
	Allow      []permit.Rule
	Unattended bool // no person reads what the command prints, so none answers there

	withdrawn atomic.Bool
}

// Withdraw ends the terms, because their command ends.
func (t *Terms) Withdraw() { t.withdrawn.Store(true) }

type termsKey struct{}

// WithTerms returns a context for what a command with terms does before its turn begins.
func WithTerms(ctx context.Context, t *Terms) context.Context {
	return context.WithValue(ctx, termsKey{}, t)
}

// TermsOf returns the terms under which an agent works now. They are the zero Terms if its turn has none, or if it is
// outside the subtree of the agent that they were given to, as a parent is that reads a report.
func (k *Kernel) TermsOf(ctx context.Context, a id.Agent) *Terms {
	if given, _ := ctx.Value(termsKey{}).(*Terms); given != nil {
		return given
	}
	var to id.Agent
	var t *Terms
	k.mu.Lock()
	if p := k.live[a]; p != nil && p.family != nil {
		to, t = p.family.of, p.family.terms
	}
	k.mu.Unlock()
	if t == nil || t.withdrawn.Load() {
		return &Terms{}
	}
	for a != to {
		row, err := k.Store.Agent(ctx, a)
		if err != nil || row.Parent == "" {
			return &Terms{}
		}
		a = row.Parent
	}
	return t
}

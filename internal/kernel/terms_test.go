package kernel

import (
	"context"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Terms hold for the agent that they were given to and those below it, in the turns that come from its prompt, until they
// are withdrawn.
func TestTermsHoldBelowAnAgent(t *testing.T) {
	rows := familyOf{parents: map[id.Agent]id.Agent{"parent": "", "given": "parent", "child": "given"}}
	terms := &Terms{NoTools: true}
	k := &Kernel{live: map[id.Agent]*agentProcess{}}
	k.Store = rows
	family := &counter{of: "given", terms: terms}
	for name := range rows.parents {
		k.live[name] = &agentProcess{family: family}
	}
	k.live["idle"] = &agentProcess{}
	for name, want := range map[id.Agent]bool{"parent": false, "given": true, "child": true, "idle": false, "nobody": false} {
		if got := k.TermsOf(t.Context(), name).NoTools; got != want {
			t.Errorf("%s has the terms: %v", name, got)
		}
	}
	if !k.TermsOf(WithTerms(t.Context(), terms), "idle").NoTools {
		t.Error("a command has no terms before its turn")
	}
	terms.Withdraw()
	if k.TermsOf(t.Context(), "given").NoTools {
		t.Error("they outlive the command")
	}
}

// familyOf is a store of parents.
type familyOf struct {
	Store
	parents map[id.Agent]id.Agent
}

func (f familyOf) Agent(_ context.Context, a id.Agent) (agent.Agent, error) {
	return agent.Agent{ID: a, Parent: f.parents[a]}, nil
}

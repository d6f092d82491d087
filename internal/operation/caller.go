package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
)

// Caller identifies the caller of operations. A face puts it into the context; no input contains it.
type Caller struct {
	Agent id.Agent     // the calling agent; empty: a person
	Who   string       // the person, for the record
	Face  history.Face // where the call comes from; empty: from a command of the agent
}

type callerKey struct{}

// Context returns a context whose calls are the caller's.
func (c Caller) Context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, callerKey{}, c)
	if c.Agent != "" {
		return session.As(ctx, c.Agent)
	}
	return history.By(ctx, history.Actor{Who: c.Who, Face: c.Face})
}

// admit refuses what the caller may not call at all. Whether an agent may act on another one is
// decided where the target is changed.
func admit(ctx context.Context, w *session.Workspace, d *Doc) (Caller, error) {
	by, err := w.Admit(ctx, d.Name, d.Persons, d.Tool)
	c, _ := ctx.Value(callerKey{}).(Caller)
	if c.Agent = by; by != "" || err != nil {
		return c, err
	}
	if actor := history.ActorOf(ctx); actor != nil {
		c.Who, c.Face = actor.Who, actor.Face
	}
	return c, nil
}

// Target finds the agent that a field names; by default the calling agent, or agent 0 for a person.
func (e *Env) Target(ctx context.Context, ref AgentRef) (agent.Agent, error) {
	if ref == "" && e.Caller.Agent != "" {
		ref = AgentRef(e.Caller.Agent)
	}
	if ref == "" {
		ref = "0"
	}
	return e.Find(ctx, string(ref))
}

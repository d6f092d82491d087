package app

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// limitsOf are the limits of an agent's tools, by roles and skills.
func limitsOf(log history.Log, a agent.Agent) ([]history.Limit, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	all, err := registry.Limits(ctx, log, a.ID)
	out := make([]history.Limit, len(all))
	for i, l := range all {
		out[i] = l.Limit
	}
	return out, err
}

// limitedForeign is another program whose agent may be limited. What the program asks for is held
// against the limits of the agent's own definition. It does not ask for everything: an agent that
// was limited before it was born, by whoever made it, is not driven by one.
type limitedForeign struct {
	kernel.Foreign
	log history.Log
}

func (f limitedForeign) Run(ctx context.Context, a agent.Agent, t loop.Turn, c *loop.Conversation) (loop.Outcome, error) {
	limits, err := registry.Limits(ctx, f.log, a.ID)
	if err != nil {
		return loop.Outcome{}, err
	}
	var own []history.Limit
	for _, l := range limits {
		if l.Of != a.ID {
			return loop.Outcome{}, fault.New(fault.Denied, "agent %s has only the tools of %s, and %s does not keep to them", a.Label(), l.By, t.Ref.Name).
				WithHint("fork it from an agent that has all tools, or let ramet's own loop drive it")
		}
		own = append(own, l.Limit)
	}
	if len(own) > 0 {
		t.Guard = limitedGuard{t.Guard, own}
	}
	return f.Foreign.Run(ctx, a, t, c)
}

// limitedGuard refuses what limits leave out, before anybody is asked.
type limitedGuard struct {
	loop.Guard
	limits []history.Limit
}

func (g limitedGuard) Decide(ctx context.Context, spec tool.Spec, call tool.Call) (tool.Grant, *history.Permission, error) {
	judged := spec
	if spec.Access == tool.Processes {
		judged.Name = ownPrefix().ReplaceAllString(spec.Name, "")
	}
	for _, l := range g.limits {
		if !talk.Allows(l.Tools, judged, call.Args) {
			return "", nil, fault.New(fault.Denied, "%s is none of the tools of %s", judged.Name, l.By)
		}
	}
	return g.Guard.Decide(ctx, spec, call)
}

// ownPrefix matches the prefix that programs add to the names of ramet's own tools.
var ownPrefix = text.Regexp(`^(mcp__)?ramet(__|_|/|\.)`)

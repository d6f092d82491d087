package kernel

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// narrow gives children no more tools than their parent has at this moment. Limits that stand in
// its history are theirs by birth; what it follows until its turn ends is written into theirs. Tools
// of another program are not ours to take away: who is limited cannot have a child driven by one.
func (h verbs) narrow(ctx context.Context, f *registry.Fork) error {
	var now []history.Draft
	for _, limit := range following(h.around.box) {
		now = append(now, registry.LimitEntry(limit))
	}
	limited := len(now) > 0
	if !limited {
		standing, err := registry.Limits(ctx, h.Store, f.Parent)
		if err != nil {
			return err
		}
		limited = len(standing) > 0
	}
	for i := range f.Children {
		c := &f.Children[i]
		if limited && c.Provider != "" {
			if m, err := h.Model(agent.Agent{ID: c.ID, Parent: f.Parent, Provider: c.Provider, Model: c.Model}, llm.Ref{}); err == nil && m.Foreign != nil {
				return fault.New(fault.Denied, "your tools are limited, and those of %s are not: it cannot drive a child of yours", c.Model).
					WithHint("none was forked; fork without a driver")
			}
		}
		c.Entries = slices.Concat(now, c.Entries)
	}
	return nil
}

// following are the limits that end with a turn which has these tools.
func following(box tool.Box) []history.Limit {
	var out []history.Limit
	for _, t := range box {
		if l, ok := t.(tool.Limiter); ok {
			out = append(out, l.Limits()...)
		}
	}
	return out
}

// Following are the limits of an agent's tools that end with the turn which it has here; those for
// good stand in its history.
func (k *Kernel) Following(a id.Agent) []history.Limit {
	k.mu.Lock()
	var box tool.Box
	if p := k.live[a]; p != nil {
		box = p.box
	}
	k.mu.Unlock()
	return following(box)
}

// works notes what the turn of a process has to work with; nil: it is over.
func (p *agentProcess) works(box tool.Box) {
	p.kernel.mu.Lock()
	defer p.kernel.mu.Unlock()
	p.box = box
}

package session

import (
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/tool"
)

// A command of an agent is no way around the limits of its tools: what it asks for by command it
// must have a tool for, and whoever it makes has no more than it has at this moment.

// following are the limits of the agent that asks which end with its turn: those of skills. The
// kernel that runs the turn alone knows them. A person has none.
func (w *Workspace) following(ctx context.Context) ([]history.Limit, error) {
	own := w.asks(ctx)
	if own == "" {
		return nil, nil
	}
	row, err := w.Store.Agent(ctx, own)
	if err != nil {
		return nil, err
	}
	switch {
	case row.Lease.Owner == "":
		return nil, nil
	case w.Kernel == nil || row.Lease.Owner != w.owner():
		return nil, fault.New(fault.Leased, "agent %s is held by %s, which knows its limits and does not carry out this command", own.Short(), row.Lease.Owner)
	}
	return w.Kernel.Following(own), nil
}

// limits are all that hold for the agent that asks.
func (w *Workspace) limits(ctx context.Context) ([]history.Limit, error) {
	own := w.asks(ctx)
	if own == "" {
		return nil, nil
	}
	out, err := w.following(ctx)
	if err != nil {
		return nil, err
	}
	standing, err := registry.Limits(ctx, w.Store, own)
	for _, l := range standing {
		out = append(out, l.Limit)
	}
	return out, err
}

// needs refuses an agent that asks, unless its limits leave it a tool.
func (w *Workspace) needs(ctx context.Context, what, name string) error {
	limits, err := w.limits(ctx)
	if err != nil {
		return err
	}
	return needs(limits, what, name)
}

func needs(limits []history.Limit, what, name string) error {
	for _, l := range limits {
		if !talk.Allows(l.Tools, tool.Spec{Name: name}, nil) {
			return fault.New(fault.Denied, "%s: this is a command of an agent that has only the tools of %s, without %s", what, l.By, name).
				WithHint("go on without it")
		}
	}
	return nil
}

// Unlimited refuses an agent that asks for what no tool of ours limits, where its own are.
func (w *Workspace) Unlimited(ctx context.Context, what string) error {
	limits, err := w.limits(ctx)
	if err != nil || len(limits) == 0 {
		return err
	}
	return fault.New(fault.Denied, "%s: this is a command of an agent that has only the tools of %s", what, limits[0].By).
		WithHint("say what is needed; the person can do it")
}

// narrow gives the child of an agent that asks what this one follows at the moment.
func (w Agents) narrow(ctx context.Context, c *registry.Child) error {
	now, err := w.ws.following(ctx)
	if err != nil || len(now) == 0 {
		return err
	}
	var drafts []history.Draft
	for _, l := range now {
		drafts = append(drafts, registry.LimitEntry(l))
	}
	at := 0
	if len(c.Entries) > 0 && c.Entries[0].Kind == history.Rewind {
		at = 1
	}
	c.Entries = slices.Insert(c.Entries, at, drafts...)
	return nil
}

// reaches refuses words to one below that has more tools than the agent that asks has at this
// moment, unless it could write a letter.
func (w *Workspace) reaches(ctx context.Context, what string, to id.Agent) error {
	limits, err := w.limits(ctx)
	if err != nil || needs(limits, what, "send") == nil {
		return err
	}
	if err := needs(limits, what, "fork"); err != nil {
		return err
	}
	theirs, err := registry.Limits(ctx, w.Store, to)
	if err != nil {
		return err
	}
	for _, l := range limits {
		if !slices.ContainsFunc(theirs, func(t registry.Limit) bool { return t.By == l.By && slices.Equal(t.Tools, l.Tools) }) {
			return fault.New(fault.Denied, "%s %s: this is a command of an agent that has only the tools of %s, and that one has more", what, to.Short(), l.By).
				WithHint("fork one that has no more")
		}
	}
	return nil
}

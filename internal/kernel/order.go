package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// Order writes what a person decided about an agent, also while it works.
func (k *Kernel) Order(ctx context.Context, a id.Agent, d history.Draft) (history.Entry, error) {
	if _, err := k.living(ctx, a); err != nil {
		return history.Entry{}, err
	}
	var entries []history.Entry
	err := k.insert(ctx, a, func(c agent.Claim) (err error) {
		entries, err = k.Store.Append(ctx, a, c, d)
		return err
	})
	if err != nil {
		return history.Entry{}, err
	}
	k.drafts.moved(a)
	k.Events.Publish(loop.Event{Type: loop.Recorded, Agent: a, Entry: &entries[0]})
	return entries[0], nil
}

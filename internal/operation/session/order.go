package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// order writes what a person decided about an agent, also while it works.
func (w Agents) order(ctx context.Context, a id.Agent, entry history.Draft) error {
	return w.ws.retakes(ctx, a, func() error {
		if w.ws.Kernel != nil {
			_, err := w.ws.Kernel.Order(ctx, a, entry)
			return err
		}
		return w.ws.insert(ctx, a, func(c agent.Claim) error {
			_, err := w.ws.Store.Append(ctx, a, c, entry)
			return err
		})
	})
}

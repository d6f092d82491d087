package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/control"
)

// order writes what a person decided about an agent, also while it works: then the kernel that holds it does,
// be it ours or another process's.
func (w Agents) order(ctx context.Context, a id.Agent, entry history.Draft) error {
	return w.ws.through(ctx, a, func() error {
		if w.ws.Kernel != nil {
			_, err := w.ws.Kernel.Order(ctx, a, entry)
			return err
		}
		_, err := w.ws.Store.Append(ctx, a, agent.Passing(), entry)
		return err
	}, func(k *control.Client) error {
		_, err := k.Order(ctx, a, entry)
		return err
	})
}

package session

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// How much is written at once.
const (
	batchDrafts = 512
	batchBytes  = 4 << 20
)

// send writes what waits for an agent, and records where it is.
func (w *bringer) send(ctx context.Context, a id.Agent) error {
	t := w.held.tips[a]
	if t == nil || len(t.drafts) == 0 {
		return nil
	}
	entries, err := w.ws.Store.Append(ctx, a, agent.Passing(), t.drafts...)
	for i, e := range entries {
		for _, one := range t.at[i] {
			w.held.positions[one.Offset] = position{a, e.ID}
		}
		if len(t.at[i]) > 0 {
			t.last = e.ID
		}
	}
	t.drafts, t.at, t.size = nil, nil, 0
	return err
}

// sendAll writes what waits for any agent.
func (w *bringer) sendAll(ctx context.Context) error {
	for a := range w.held.tips {
		if err := w.send(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

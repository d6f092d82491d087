package session

import (
	"context"

	"ramet/internal/core/history"
)

// ReadEntry reads one entry as Page does.
func (w History) ReadEntry(ctx context.Context, e history.Entry) (out Entry, err error) {
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		out, err = w.entry(ctx, log, e)
		return err
	})
	return out, err
}

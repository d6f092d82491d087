package sqlite

import (
	"context"

	"ramet/internal/store"
)

// withoutWatch returns the context that the driver gets. For one that can end it starts a goroutine with each
// statement, and another thread wakes up for it. A statement of ours has its first row in microseconds;
// rows behind it end with their context in any case, since database/sql closes them. So only what is said
// to last is watched, and what is over already is not begun.
func withoutWatch(ctx context.Context) context.Context {
	if ctx.Done() == nil || ctx.Err() != nil || store.IsLasting(ctx) {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

package store

import "context"

type lasting struct{}

// Lasting says of statements that they may take long before their first row: over everything there is,
// or over all of a table. Such a one ends with its context, which in a file takes a goroutine that watches
// it; the others, most of which take less than a goroutine does, end by themselves.
func Lasting(ctx context.Context) context.Context { return context.WithValue(ctx, lasting{}, true) }

// IsLasting says so of a statement that begins.
func IsLasting(ctx context.Context) bool { return ctx.Value(lasting{}) != nil }

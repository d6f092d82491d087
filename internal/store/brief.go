package store

import "context"

type brief struct{}

// Brief says of an opening that it is for one verb, which reads and then writes: one connection does
// both. A second one would read the tables' definitions once more, which takes longer than such a verb.
func Brief(ctx context.Context) context.Context { return context.WithValue(ctx, brief{}, true) }

// IsBrief says so of a store that is being opened.
func IsBrief(ctx context.Context) bool { return ctx.Value(brief{}) != nil }

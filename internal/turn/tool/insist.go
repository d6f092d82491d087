package tool

import "context"

type insistKey struct{}

// Insist marks a context so that calls made with it are put to a person, whatever the mode and the
// rules permit. The question shows why.
func Insist(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, insistKey{}, why)
}

// Insisted reports whether a person must decide calls made with ctx, and why.
func Insisted(ctx context.Context) (why string, ok bool) {
	why, ok = ctx.Value(insistKey{}).(string)
	return why, ok
}

package permit

import "context"

type insistKey struct{}

// Insist has a person asked about calls that are decided with this context, whatever mode and
// rules permit, for a reason that the question tells.
func Insist(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, insistKey{}, why)
}

// insisted is why a person must be asked.
func insisted(ctx context.Context) (why string, ok bool) {
	why, ok = ctx.Value(insistKey{}).(string)
	return why, ok
}

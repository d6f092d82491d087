package registry

import "context"

type watcher struct{}

// Watching lets an audit tell how many more entries it checked, from time to time.
func Watching(ctx context.Context, checked func(more int)) context.Context {
	return context.WithValue(ctx, watcher{}, checked)
}

// Watcher is who wants to be told; nobody: a function that does nothing.
func Watcher(ctx context.Context) func(more int) {
	if told, ok := ctx.Value(watcher{}).(func(int)); ok {
		return told
	}
	return func(int) {}
}

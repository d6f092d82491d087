//go:build !linux

package durable

import "context"

// WatchFolder begins to watch a folder, until ctx ends. false: changes are not reported.
func WatchFolder(context.Context, string) (<-chan struct{}, bool) { return nil, false }

//go:build !linux

package durable

import "context"

// WatchFolder begins to watch a folder, until ctx ends. false: nobody will tell.
func WatchFolder(context.Context, string) (<-chan struct{}, bool) { return nil, false }

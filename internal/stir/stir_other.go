//go:build !linux

package stir

import "context"

// Watch begins to watch a folder, until ctx ends. false: nobody will tell.
func Watch(context.Context, string) (<-chan struct{}, bool) { return nil, false }

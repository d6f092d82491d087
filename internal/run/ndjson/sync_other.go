//go:build !linux

package ndjson

import "ramet/internal/step"

// datasync makes content and size durable.
func datasync(f *step.File) error { return f.Sync() }

//go:build !linux

package ndjson

import "ramet/internal/base/step"

// datasync makes content and size durable.
func datasync(f *step.File) error { return f.Sync() }

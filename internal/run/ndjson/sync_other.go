//go:build !linux

package ndjson

import "os"

// datasync makes content and size durable.
func datasync(f *os.File) error { return f.Sync() }

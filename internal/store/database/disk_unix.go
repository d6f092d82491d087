//go:build unix

package database

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// noSpace reports whether the disk that holds a file is full.
func noSpace(path string) bool {
	var disk unix.Statfs_t
	return unix.Statfs(filepath.Dir(path), &disk) == nil && disk.Bavail == 0
}

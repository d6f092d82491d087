//go:build unix

package sqlite

import "golang.org/x/sys/unix"

// writable reports whether the system lets us write a file.
func writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }

//go:build unix && !linux

package app

import "golang.org/x/sys/unix"

// redirect makes to what from is.
func redirect(from, to int) { unix.Dup2(from, to) }

//go:build unix && !linux

package ledger

import (
	"errors"
	"syscall"
)

// began reports whether there is such a process; its time is unknown.
func began(pid int) (start string, there bool) {
	err := syscall.Kill(pid, 0)
	return "", err == nil || errors.Is(err, syscall.EPERM)
}

func sameNumbers(string) bool { return true }

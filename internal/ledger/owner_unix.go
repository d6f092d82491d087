//go:build unix && !linux

package ledger

import (
	"errors"
	"syscall"
)

// began knows only whether there is such a process.
func began(pid int) (start string, there bool) {
	err := syscall.Kill(pid, 0)
	return "", err == nil || errors.Is(err, syscall.EPERM)
}

func sameNumbers(string) bool { return true }

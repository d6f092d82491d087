//go:build unix && !linux

package cli

import "syscall"

// dieWithUs can do nothing here: a command outlives a ramet that is killed.
func dieWithUs(*syscall.SysProcAttr) {}

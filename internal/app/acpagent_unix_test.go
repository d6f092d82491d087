//go:build unix

package app_test

import (
	"os/signal"
	"syscall"
)

func signalIgnore() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

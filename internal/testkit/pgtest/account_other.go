//go:build !linux

package pgtest

import (
	"os"
	"syscall"
)

// account stands for nobody: elsewhere PostgreSQL runs as whoever tests.
type account struct{}

func serverUser() (*account, error) { return nil, nil }

func attributes(*account) *syscall.SysProcAttr { return nil }

func makeFolder(*account) (string, error) { return os.MkdirTemp("", "ramet-pg-") }

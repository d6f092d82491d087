//go:build unix

package restore

import "syscall"

const nonblock = syscall.O_NONBLOCK

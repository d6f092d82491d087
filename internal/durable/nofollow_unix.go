//go:build unix

package durable

import "syscall"

// noFollow keeps the system from following a link at the end of a path.
const noFollow = syscall.O_NOFOLLOW

// unchangeable: the mode of a file can be set through its descriptor.
const unchangeable = false

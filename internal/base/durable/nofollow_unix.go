//go:build unix

package durable

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow keeps the system from following a link at the end of a path.
const noFollow = syscall.O_NOFOLLOW

// unchangeable: the mode of a file can be set through its descriptor.
const unchangeable = false

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

//go:build !windows

package launch

import (
	"os"
	"syscall"
)

// isPrivate reports whether a file is the user's own and no other account can use it.
func isPrivate(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() == 0o700
}

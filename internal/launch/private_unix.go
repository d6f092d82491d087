//go:build !windows

package launch

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Umask returns the umask of this process in octal.
func Umask() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if umask, ok := strings.CutPrefix(line, "Umask:"); ok {
			return strings.TrimSpace(umask)
		}
	}
	umask := syscall.Umask(0o077) // the only way to read it elsewhere; the kernel never asks
	syscall.Umask(umask)
	return fmt.Sprintf("%04o", umask)
}

// isPrivate reports whether a file is the user's own and no other account can use it.
func isPrivate(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm() == 0o700
}

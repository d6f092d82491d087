//go:build linux || darwin

package durable

import "golang.org/x/sys/unix"

// FreeSpace returns how many bytes the user can write to the file system of a folder; false if
// unknown.
func FreeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

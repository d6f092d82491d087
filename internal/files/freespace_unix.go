//go:build linux || darwin

package files

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes the user can write to the file system of a folder; false if
// unknown.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

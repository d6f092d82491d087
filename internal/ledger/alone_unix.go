//go:build unix

package ledger

import (
	"io/fs"
	"syscall"
)

// alone says whether a file is a plain one with one name.
func alone(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && s.Nlink == 1
}

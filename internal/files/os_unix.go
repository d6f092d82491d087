//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

const nonblock = syscall.O_NONBLOCK

// rename moves a name from one open folder to another.
func rename(from *step.Root, name string, to *step.Root, as string) error {
	return renameBetween(from, to, func(src, dst int) error { return unix.Renameat(src, name, dst, as) })
}

// renameBetween calls do with the descriptors of two open folders, as one step.
func renameBetween(from, to *step.Root, do func(src, dst int) error) error {
	src, err := from.Open(".")
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.Open(".")
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := step.At("rename"); err != nil {
		return err
	}
	return do(int(src.Fd()), int(dst.Fd()))
}

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

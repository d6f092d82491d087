//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// rename moves a name from one open folder to another.
func rename(from *step.Root, name string, to *step.Root, as string) error {
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
	return unix.Renameat(int(src.Fd()), name, int(dst.Fd()), as)
}

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// openForWriting reports whether a process has a file open for writing, or mapped: the kernel
// refuses a read lease on such a file. Where it cannot be known (another user's file, a file
// system without leases) it returns false.
func openForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
	err := renameBetween(from, to, func(src, dst int) error { return unix.Renameat2(src, name, dst, as, unix.RENAME_NOREPLACE) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		return renameChecked(from, name, to, as)
	}
	return err
}

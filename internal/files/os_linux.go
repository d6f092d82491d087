package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

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

// CloneFile makes a file in a folder, where nothing of that name may be, with the content of src.
// perm is cut by the umask, as os.OpenFile does.
func CloneFile(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
	dst, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	if closed := dst.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return nil
	}
	dir.Remove(name)
	for _, never := range []syscall.Errno{unix.EOPNOTSUPP, unix.ENOTTY, unix.ENOSYS, unix.EXDEV, unix.EINVAL} {
		if errors.Is(err, never) {
			return ErrCannotClone
		}
	}
	return &os.PathError{Op: "clone", Path: name, Err: err}
}

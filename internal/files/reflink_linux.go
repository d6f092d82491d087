package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func clone(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
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

package files

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// CloneFile makes a file in a folder, where nothing of that name may be, with the content of src.
// perm is cut by the umask, as os.OpenFile does. APFS makes the file itself, with the mode of the source.
func CloneFile(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
	// Made and removed first: so its mode is what the umask leaves.
	probe, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	info, err := probe.Stat()
	probe.Close()
	dir.Remove(name)
	if err != nil {
		return err
	}
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer at.Close()
	if err := unix.Fclonefileat(int(src.Fd()), int(at.Fd()), name, 0); err != nil {
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EINVAL) {
			return ErrCannotClone
		}
		return &os.PathError{Op: "clone", Path: name, Err: err}
	}
	if err := dir.Chmod(name, info.Mode().Perm()); err != nil {
		dir.Remove(name)
		return err
	}
	return nil
}

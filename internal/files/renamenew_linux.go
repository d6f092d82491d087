package files

import (
	"errors"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
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
	err = unix.Renameat2(int(src.Fd()), name, int(dst.Fd()), as, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		return renameChecked(from, name, to, as)
	}
	return err
}

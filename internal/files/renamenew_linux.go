package files

import (
	"errors"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
	err := renameBetween(from, to, func(src, dst int) error { return unix.Renameat2(src, name, dst, as, unix.RENAME_NOREPLACE) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		return renameChecked(from, name, to, as)
	}
	return err
}

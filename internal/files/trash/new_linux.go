package trash

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *os.Root, name string, to *os.Root, as string) error {
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
	err = unix.Renameat2(int(src.Fd()), name, int(dst.Fd()), as, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		return renameChecked(from, name, to, as)
	}
	return err
}

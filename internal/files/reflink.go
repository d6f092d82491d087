package files

import (
	"errors"
	"io/fs"
	"os"
)

// ErrCannotClone reports that contents are not shared between two places.
var ErrCannotClone = errors.New("the file system shares no contents here")

// CloneFile makes a file in a folder, where nothing of that name may be, with the content of src.
// perm is cut by the umask, as os.OpenFile does.
func CloneFile(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
	return clone(dir, name, perm, src)
}

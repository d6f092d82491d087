// Package reflink copies a file by letting the copy share its blocks, on file systems that can
// (Btrfs, XFS, APFS and others): that takes no space and next to no time, whatever the size, and
// a change of one of the two is not seen in the other.
//
// It promises:
//
//   - A clone is a new file with the content that its source had at one moment.
//   - Where the file system cannot, nothing is left, and the error is ErrCannot: whoever wanted
//     a clone copies instead, and need not ask again for the same two places.

package files

import (
	"errors"
	"io/fs"
	"os"
)

// ErrCannotClone says that contents are not shared between two places.
var ErrCannotClone = errors.New("the file system shares no contents here")

// CloneFile makes a file in a folder, where nothing of that name may be, with the content of src.
// perm is cut by the umask, as os.OpenFile does.
func CloneFile(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
	return clone(dir, name, perm, src)
}

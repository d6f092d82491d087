//go:build !unix

package trash

import (
	"io/fs"
	"os"
	"path/filepath"
)

// rename moves a name from one open folder to another.
func rename(from *os.Root, name string, to *os.Root, as string) error {
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}

// ownedByUser reports whether a file belongs to the user of this process; unknown here.
func ownedByUser(fs.FileInfo) bool { return true }

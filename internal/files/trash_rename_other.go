//go:build !unix

package files

import (
	"io/fs"
	"path/filepath"

	"ramet/internal/base/step"
)

// rename moves a name from one open folder to another.
func rename(from *step.Root, name string, to *step.Root, as string) error {
	return step.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}

// ownedByUser reports whether a file belongs to the user of this process; unknown here.
func ownedByUser(fs.FileInfo) bool { return true }

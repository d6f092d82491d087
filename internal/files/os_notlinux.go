//go:build !linux

package files

import "ramet/internal/base/step"

// openForWriting reports whether a process has a file open for writing; unknown here.
func openForWriting(string) bool { return false }

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
	return renameChecked(from, name, to, as)
}

//go:build !linux

package files

import "ramet/internal/base/step"

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
	return renameChecked(from, name, to, as)
}

//go:build !linux

package trash

import "ramet/internal/step"

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *step.Root, name string, to *step.Root, as string) error {
	return renameChecked(from, name, to, as)
}

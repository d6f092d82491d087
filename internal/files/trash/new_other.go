//go:build !linux

package trash

import "os"

// renameNew moves a name from one open folder to another. If there is something of that name,
// it fails with fs.ErrExist.
func renameNew(from *os.Root, name string, to *os.Root, as string) error {
	return renameChecked(from, name, to, as)
}

//go:build !linux && !darwin

package files

import (
	"io/fs"
	"os"
)

// CloneFile returns ErrCannotClone.
func CloneFile(*os.Root, string, fs.FileMode, *os.File) error { return ErrCannotClone }

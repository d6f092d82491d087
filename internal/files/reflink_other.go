//go:build !linux && !darwin

package files

import (
	"io/fs"
	"os"
)

func clone(*os.Root, string, fs.FileMode, *os.File) error { return ErrCannotClone }

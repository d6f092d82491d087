//go:build !linux && !darwin

package reflink

import (
	"io/fs"
	"os"
)

func clone(*os.Root, string, fs.FileMode, *os.File) error { return ErrCannot }

//go:build !unix

package files

import (
	"io/fs"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// alive returns true: this system does not tell, so that changes count as foreign.
func alive(int) bool { return true }

const nonblock = 0

// rename moves a name from one open folder to another.
func rename(from *step.Root, name string, to *step.Root, as string) error {
	return step.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}

// ownedByUser reports whether a file belongs to the user of this process; unknown here.
func ownedByUser(fs.FileInfo) bool { return true }

// lookAt returns an error: times of changes are unknown here.
func lookAt(path string) (ScanStat, error) { return ScanStat{}, fs.ErrInvalid }

// open returns an error: this system has no handles that a walk could go by.
func open(path string) (ScanPlace, error) {
	return nil, fault.New(fault.Failed, "the files of %s can't be read on this system", path)
}

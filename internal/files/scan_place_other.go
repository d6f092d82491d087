//go:build !unix

package files

import "ramet/internal/base/fault"

// open: this system has no handles that a walk could go by.
func open(path string) (ScanPlace, error) {
	return nil, fault.New(fault.Failed, "the files of %s can't be read on this system", path)
}

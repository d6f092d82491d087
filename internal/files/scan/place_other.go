//go:build !unix

package scan

import "ramet/internal/fault"

// open: this system has no handles that a walk could go by.
func open(path string) (Place, error) {
	return nil, fault.New(fault.Failed, "the files of %s cannot be looked at on this system", path)
}

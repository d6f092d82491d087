package ndjson

import (
	"errors"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
)

// datasync makes content and size durable, not the times. An interrupted call did
// nothing and is made again; any other failure is final.
func datasync(f *step.File) error {
	if err := step.At("sync"); err != nil {
		return err
	}
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

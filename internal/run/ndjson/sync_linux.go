package ndjson

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes content and size durable, not the times. An interrupted call did
// nothing and is made again; any other failure is final.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openForWriting reports whether a process has a file open for writing, or mapped: the kernel
// refuses a read lease on such a file. Where it cannot be known (another user's file, a file
// system without leases) it returns false.
func openForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

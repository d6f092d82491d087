//go:build unix

package local

import (
	"bytes"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// text reads a whole text file of the folder, of at most the largest size, into a buffer, and
// says when it was changed. A link is not followed and a pipe not waited for: both are no
// regular files. It makes few system calls, for searches make them for each file.
func (f *folder) text(name string, buffer *[]byte) (body []byte, when int64, err error) {
	conn, err := f.names.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	bad := conn.Control(func(dir uintptr) { body, when, err = textAt(int(dir), name, buffer) })
	if bad != nil {
		return nil, 0, bad
	}
	return body, when, err
}

func textAt(dir int, name string, buffer *[]byte) ([]byte, int64, error) {
	fd, err := again(func() (int, error) {
		return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	switch err := unix.Fstat(fd, &info); {
	case err != nil:
		return nil, 0, err
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, 0, fs.ErrInvalid
	case info.Size > largest:
		return nil, 0, errTooLarge
	}
	if need := int(info.Size) + 1; cap(*buffer) < need {
		*buffer = make([]byte, max(need+need/2, os.Getpagesize()))
	}
	b := (*buffer)[:cap(*buffer)]
	for n := 0; ; {
		if n == len(b) { // it grew
			b = append(b, make([]byte, len(b))...)
			*buffer = b
		}
		got, err := again(func() (int, error) { return unix.Read(fd, b[n:]) })
		first := n == 0
		n += max(got, 0)
		switch {
		case err != nil:
			return nil, 0, err
		case first && bytes.IndexByte(b[:min(n, 8<<10)], 0) >= 0:
			return nil, 0, errBinary
		case n > largest:
			return nil, 0, errTooLarge
		case got == 0 || n < len(b) && int64(n) >= info.Size: // a file ends where less is read than was asked for
			return b[:n], info.Mtim.Nano(), nil
		}
	}
}

// again repeats a call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != syscall.EINTR {
			return n, err
		}
	}
}
